//! Telling people what went wrong: one line on standard error, with all causes.

use std::error::Error;
use std::io::{self, Write};

use crate::types::WithCauses;

/// Explains an error on standard error.
pub(crate) fn complain(error: &dyn Error) {
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "streamlog: {}", WithCauses(error));
}
