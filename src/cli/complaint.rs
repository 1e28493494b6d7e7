//! Telling people what went wrong: one line on standard error, with all causes.

use std::error::Error;
use std::io::{self, Write};

/// Explains an error on standard error.
pub(crate) fn complain(error: &dyn Error) {
    let mut message = format!("streamlog: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        message.push_str(": ");
        message.push_str(&next.to_string());
        cause = next.source();
    }
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{message}");
}
