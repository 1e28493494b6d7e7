//! `streamlog topic describe`: partitions with their leaders, offsets and sizes.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::topic::names::Topics;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch};
use crate::client::{Admin, FoundOffset};
use crate::types::{BrokerId, PartitionIndex};

/// Shows the partitions of topics
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    topics: Topics,
    #[command(flatten)]
    watch: Watch,
}

#[derive(Serialize)]
struct PartitionRow {
    topic: String,
    partition: i32,
    leader: Option<i32>,
    leader_epoch: i32,
    replicas: Vec<i32>,
    isr: Vec<i32>,
    begin_offset: Option<i64>,
    end_offset: Option<i64>,
    bytes: u64,
}

impl Row for PartitionRow {
    const COLUMNS: &'static [&'static str] = &[
        "topic",
        "partition",
        "leader",
        "leader_epoch",
        "replicas",
        "isr",
        "begin_offset",
        "end_offset",
        "bytes",
    ];
    const WIDE: &'static [&'static str] = &["leader_epoch"];
    const SHORT: &'static [(&'static str, &'static str)] =
        &[("partition", "PART"), ("begin_offset", "BEGIN"), ("end_offset", "END")];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        self.watch.answer(cluster, out, |admin, out| {
            let mut rows = cluster.rows();
            for topic in self.topics.find(admin)? {
                for row in describe(admin, &topic)? {
                    rows.push(out, &row)?;
                }
            }
            rows.finish(out)?;
            Ok(Exit::Done)
        })
    }
}

fn describe(admin: &Admin, topic: &str) -> Result<Vec<PartitionRow>, CommandError> {
    let found = admin.topic(topic)?;
    // A partition without a leader is shown too: it is what an operator looks for.
    let [begins, ends] = admin.known_offsets(topic)?.map(by_partition);
    let sizes = admin.partition_sizes()?;
    let numbers = |ids: &[BrokerId]| ids.iter().map(|id| id.0).collect();
    let row = |partition: &crate::client::PartitionDescription| {
        let number = partition.partition;
        let own = sizes.iter().filter(|size| {
            let place = &size.partition;
            place.topic == found.name && place.partition == number
        });
        PartitionRow {
            topic: found.name.to_string(),
            partition: number.0,
            leader: partition.leader.map(|id| id.0),
            leader_epoch: partition.leader_epoch.0,
            replicas: numbers(&partition.replicas),
            isr: numbers(&partition.isr),
            begin_offset: begins.get(&number).copied(),
            end_offset: ends.get(&number).copied(),
            bytes: own.map(|size| size.bytes).max().unwrap_or(0),
        }
    };
    Ok(found.partitions.iter().map(row).collect())
}

fn by_partition(found: Vec<FoundOffset>) -> HashMap<PartitionIndex, i64> {
    let row = |row: FoundOffset| Some((row.partition.partition, row.offset?.get()));
    found.into_iter().filter_map(row).collect()
}
