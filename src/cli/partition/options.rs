//! The subcommands of `streamlog partition`.

use clap::{Args, Subcommand};

use crate::cli::partition::{damage, elect, rebuild_state, skip_damage};
use crate::cli::{ClusterOptions, Exit};

/// Lists damage, lets readers skip it, and decides about leaders when records or states are lost.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Damage(damage::Options),
    SkipDamage(skip_damage::Options),
    Elect(elect::Options),
    RebuildState(rebuild_state::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, cluster } = self;
        cluster.answer(|out| {
            match verb {
                Verb::Damage(options) => options.answer(&cluster, out),
                Verb::SkipDamage(options) => options.answer(&cluster, out),
                Verb::Elect(options) => options.answer(&cluster, out),
                Verb::RebuildState(options) => options.answer(&cluster, out),
            }?;
            Ok(Exit::Done)
        })
    }
}
