//! Running a command and returning its exit code.

use std::io::{self, Write};

use crate::cli::standard_output::StandardOutput;
use crate::cli::{CommandError, CtrlC, Exit, report};

/// Runs `work` with standard output, which is flushed on return. Errors are explained on standard
/// error.
pub(crate) fn answer(
    work: impl FnOnce(&mut dyn Write, &'static CtrlC) -> Result<Exit, CommandError>,
) -> Exit {
    answer_watching(CtrlC::watched(), work)
}

/// As `answer`, with the command's existing watch for Ctrl-C.
pub(crate) fn answer_watching(
    ctrl_c: io::Result<&'static CtrlC>,
    work: impl FnOnce(&mut dyn Write, &'static CtrlC) -> Result<Exit, CommandError>,
) -> Exit {
    let ctrl_c = match ctrl_c {
        Ok(ctrl_c) => ctrl_c,
        Err(error) => {
            report(&error);
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
        // Output written before the failure is still part of the answer.
        Err(error) => {
            let _ = out.flush();
            if !error.was_ended_by_person() {
                report(&error);
            }
            error.exit()
        }
    }
}
