//! The subcommands of `streamlog partition`.

use clap::{Args, Subcommand};

use crate::cli::partition::{damage, skip_damage};
use crate::cli::{Exit, Reach};

/// Lists damage, and lets readers skip it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Damage(damage::Options),
    SkipDamage(skip_damage::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, reach } = self;
        reach.answer(|out| {
            match verb {
                Verb::Damage(options) => options.answer(&reach, out),
                Verb::SkipDamage(options) => options.answer(&reach, out),
            }?;
            Ok(Exit::Done)
        })
    }
}
