//! The subcommands of `streamlog topic`.

use clap::{Args, Subcommand};

use crate::cli::topic::{alter, create, delete, describe, list, offsets, trim};
use crate::cli::{Exit, Reach};

/// Lists, creates, changes and deletes topics.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(list::Options),
    Create(create::Options),
    Describe(describe::Options),
    Offsets(offsets::Options),
    Alter(alter::Options),
    Trim(trim::Options),
    Delete(delete::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, reach } = self;
        reach.answer(|out| {
            match verb {
                Verb::List(options) => return options.answer(&reach, out),
                Verb::Describe(options) => return options.answer(&reach, out),
                Verb::Offsets(options) => return options.answer(&reach, out),
                Verb::Create(options) => options.run(&reach),
                Verb::Alter(options) => options.run(&reach),
                Verb::Trim(options) => options.answer(&reach, out),
                Verb::Delete(options) => options.run(&reach),
            }?;
            Ok(Exit::Done)
        })
    }
}
