//! The subcommands of `streamlog log`.

use clap::{Args, Subcommand};

use crate::cli::log::{dump, rebuild_metadata, verify};
use crate::cli::{Exit, answer};

/// Inspects the files of logs, and rebuilds lost metadata from them.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Dump(dump::Options),
    #[command(visible_alias = "check")]
    Verify(verify::Options),
    RebuildMetadata(rebuild_metadata::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        answer(|out, ctrl_c| match &self.verb {
            Verb::Dump(options) => options.answer(out, ctrl_c),
            Verb::Verify(options) => options.answer(out, ctrl_c),
            Verb::RebuildMetadata(options) => options.answer(out, ctrl_c),
        })
    }
}
