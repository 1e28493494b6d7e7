//! Running what a command does, and ending with the right exit code.

use std::io::{self, BufWriter, Write};

use crate::cli::{CommandError, Exit, complain};

/// Answers on standard output, all of it written on return; what went wrong is explained on
/// standard error.
pub(crate) fn answer(work: impl FnOnce(&mut dyn Write) -> Result<Exit, CommandError>) -> Exit {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = work(&mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match outcome {
        Ok(exit) => exit,
        // What was found out before the failure is an answer all the same.
        Err(error) => {
            let _ = out.flush();
            if !error.is_closed_pipe() {
                complain(&error);
            }
            error.exit()
        }
    }
}
