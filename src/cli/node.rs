//! `streamlog node`: the brokers of a cluster.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::{Exit, Reach};

/// Shows the brokers of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists the live brokers and what they hold
    #[command(visible_alias = "status")]
    List,
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
    /// Answers on standard output.
    pub(crate) fn run(self) -> Exit {
        let Verb::List = self.verb;
        self.reach.answer(|out| {
            let admin = self.reach.connect()?.0.admin();
            let cluster = admin.cluster()?;
            let sizes = admin.partition_sizes()?;
            let row = |node: crate::client::BrokerDescription| {
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
            self.reach.rows().write(out, cluster.brokers.into_iter().map(row))?;
            Ok(Exit::Done)
        })
    }
}
