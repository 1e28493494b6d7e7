//! Telling people what went wrong: one line on standard error, with all causes.

use std::error::Error;
use std::io::{self, Write};

use crate::cli::progress::is_watched;
use crate::cli::terminal::Tone;
use crate::types::WithCauses;

/// Explains an error on standard error.
pub(crate) fn complain(error: &dyn Error) {
    let name = Tone::Bad.style().force_styling(is_watched()).apply_to("streamlog:");
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{name} {}", WithCauses(error));
}
