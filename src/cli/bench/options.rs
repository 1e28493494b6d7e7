//! The subcommands of `streamlog bench`.

use clap::{Args, Subcommand};

use crate::cli::bench::{consume, latency, produce};
use crate::cli::{Exit, Reach};

/// Measures the throughput and latency of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Produce(produce::Options),
    Consume(consume::Options),
    Latency(latency::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, reach } = self;
        reach.answer(|out| {
            match verb {
                Verb::Produce(options) => options.answer(&reach, out),
                Verb::Consume(options) => options.answer(&reach, out),
                Verb::Latency(options) => options.answer(&reach, out),
            }?;
            Ok(Exit::Done)
        })
    }
}
