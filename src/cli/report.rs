//! Reporting of errors: one line on standard error, with all causes.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

use crate::cli::progress::is_watched;
use crate::cli::terminal::Tone;
use crate::types::WithCauses;

/// Prints an error on standard error.
pub(crate) fn report(error: &dyn Error) {
    notify(&WithCauses(error));
}

/// Prints a line on standard error.
pub(crate) fn notify(words: &dyn Display) {
    let name = Tone::Bad.style().force_styling(is_watched()).apply_to("streamlog:");
    // If standard error is closed, nobody can be told.
    let _ = writeln!(io::stderr().lock(), "{name} {words}");
}
