//! The verbs of `streamlog log`.

use std::io::{self, BufWriter, Write};

use clap::{Args, Subcommand};

use crate::cli::log::{dump, verify};
use crate::cli::{CommandError, Exit, complain};

/// Looks at the files of logs.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Dump(dump::Options),
    Verify(verify::Options),
}

impl Options {
    /// Answers on standard output.
    pub(crate) fn run(self) -> Exit {
        let mut out = BufWriter::new(io::stdout().lock());
        match self.answer(&mut out) {
            Ok(exit) => exit,
            Err(error) => {
                if !error.is_closed_pipe() {
                    complain(&error);
                }
                Exit::Failed
            }
        }
    }

    /// Answers on `out`, all of it written on return.
    pub(super) fn answer(&self, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let exit = match &self.verb {
            Verb::Dump(options) => options.answer(out)?,
            Verb::Verify(options) => options.answer(out)?,
        };
        out.flush()?;
        Ok(exit)
    }
}
