//! `streamlog node`: the brokers of a cluster.

use std::io::Write;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::{ClusterOptions, Exit, Watch};
use crate::client::{Admin, BrokerDescription};

/// Shows the brokers of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists the live brokers with their partitions and sizes
    #[command(visible_alias = "status")]
    List(Watch),
}

#[derive(Serialize)]
struct NodeRow {
    node: i32,
    address: String,
    rack: Option<String>,
    is_controller: bool,
    partitions: usize,
    bytes: u64,
}

impl Row for NodeRow {
    const COLUMNS: &'static [&'static str] =
        &["node", "address", "rack", "is_controller", "partitions", "bytes"];
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Verb::List(watch) = &self.verb;
        let list = |admin: &Admin, out: &mut dyn Write| {
            let cluster = admin.cluster()?;
            let sizes = admin.partition_sizes()?;
            let row = |node: BrokerDescription| {
                let own = || sizes.iter().filter(|size| size.broker == node.id);
                NodeRow {
                    node: node.id.0,
                    address: node.address.to_string(),
                    rack: node.rack.clone(),
                    is_controller: cluster.controller == Some(node.id),
                    partitions: own().count(),
                    bytes: own().map(|size| size.bytes).sum(),
                }
            };
            self.cluster.rows().write(out, cluster.brokers.into_iter().map(row))?;
            Ok(Exit::Done)
        };
        self.cluster.answer(|out| watch.answer(&self.cluster, out, list))
    }
}
