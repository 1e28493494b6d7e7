//! The subcommands of `streamlog bench`.
//!
//! Each measures one thing and prints one row in any output format, so that the rows of two
//! clusters can be compared.

use clap::{Args, Subcommand};

use crate::cli::bench::{consume, latency, produce};
use crate::cli::{ClusterOptions, Exit};

/// Measures the throughput and latency of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
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
        let Self { verb, cluster } = self;
        cluster.answer(|out| {
            match verb {
                Verb::Produce(options) => options.answer(&cluster, out),
                Verb::Consume(options) => options.answer(&cluster, out),
                Verb::Latency(options) => options.answer(&cluster, out),
            }?;
            Ok(Exit::Done)
        })
    }
}
