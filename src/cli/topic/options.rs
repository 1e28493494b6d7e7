//! The subcommands of `streamlog topic`.

use clap::{Args, Subcommand};

use crate::cli::topic::{alter, create, delete, describe, list, offsets, trim};
use crate::cli::{ClusterOptions, Exit};

/// Lists, creates, changes and deletes topics.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
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
        let Self { verb, cluster } = self;
        cluster.answer(|out| {
            match verb {
                Verb::List(options) => return options.answer(&cluster, out),
                Verb::Describe(options) => return options.answer(&cluster, out),
                Verb::Offsets(options) => return options.answer(&cluster, out),
                Verb::Create(options) => options.run(&cluster),
                Verb::Alter(options) => options.run(&cluster),
                Verb::Trim(options) => options.answer(&cluster, out),
                Verb::Delete(options) => options.run(&cluster),
            }?;
            Ok(Exit::Done)
        })
    }
}
