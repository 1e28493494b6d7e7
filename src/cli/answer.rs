//! Running what a command does, and ending with the right exit code.

use std::io::{self, Write};

use crate::cli::standard_output::StandardOutput;
use crate::cli::{CommandError, CtrlC, Exit, complain};

/// Answers on standard output, all of it written on return; what went wrong is explained on
/// standard error.
pub(crate) fn answer(
    work: impl FnOnce(&mut dyn Write, &'static CtrlC) -> Result<Exit, CommandError>,
) -> Exit {
    answer_until(CtrlC::watched(), work)
}

/// As `answer`, with the watch for Ctrl-C that the command has already.
pub(crate) fn answer_until(
    ctrl_c: io::Result<&'static CtrlC>,
    work: impl FnOnce(&mut dyn Write, &'static CtrlC) -> Result<Exit, CommandError>,
) -> Exit {
    let ctrl_c = match ctrl_c {
        Ok(ctrl_c) => ctrl_c,
        Err(error) => {
            complain(&error);
            return Exit::Failed;
        }
    };
    let mut out = StandardOutput::new(ctrl_c);
    let outcome = work(&mut out, ctrl_c).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match outcome {
        Ok(exit) => exit,
        // What was found out before the failure is an answer all the same.
        Err(error) => {
            let _ = out.flush();
            if !error.is_wanted() {
                complain(&error);
            }
            error.exit()
        }
    }
}
