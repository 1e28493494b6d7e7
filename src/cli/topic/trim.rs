//! `streamlog topic trim`: shows the records that would be deleted, and deletes them with `--yes`.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::position::Position;
use crate::cli::topic::places::{Place, places};
use crate::cli::{ClusterOptions, CommandError, notify};

/// Shows the records to delete from the start of a topic; deletes them with --yes
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of the topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Partition to trim; may be repeated [default: all]
    #[arg(short, long, value_name = "N")]
    partition: Vec<i32>,
    /// First record to keep: an offset, latest to keep none, +N from the start or -N from the end,
    /// a time, or -1h for an hour ago
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    before: Position,
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct TrimRow {
    topic: String,
    partition: i32,
    begin_offset: i64,
    to_offset: i64,
    end_offset: i64,
    is_done: bool,
}

impl Row for TrimRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "begin_offset", "to_offset", "end_offset", "is_done"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let admin = cluster.connect()?.0.admin();
        let found = places(&admin, &self.topic, self.before)?;
        // Check all partitions before deleting the first record.
        for partition in &self.partition {
            if !found.iter().any(|place| place.partition.partition.0 == *partition) {
                let (topic, count) = (self.topic.clone(), found.len());
                let partition = *partition;
                return Err(CommandError::PartitionNotFound { topic, partition, count });
            }
        }
        let is_asked = |place: &Place| {
            self.partition.is_empty() || self.partition.contains(&place.partition.partition.0)
        };
        let mut rows = cluster.rows();
        let mut emptied = Vec::new();
        for place in found.into_iter().filter(is_asked) {
            let mut to = place.offset;
            if self.yes && to > place.begin {
                to = admin.delete_records(&place.partition, to)?;
            }
            if place.begin < place.end && to >= place.end {
                emptied.push(place.partition.to_string());
            }
            rows.push(
                out,
                &TrimRow {
                    topic: place.partition.topic.to_string(),
                    partition: place.partition.partition.0,
                    begin_offset: place.begin.get(),
                    to_offset: to.get(),
                    end_offset: place.end.get(),
                    is_done: self.yes,
                },
            )?;
        }
        rows.finish(out)?;
        if !emptied.is_empty() {
            let partitions = emptied.join(", ");
            if self.yes {
                notify(&format_args!("all records of {partitions} were deleted"));
            } else {
                notify(&format_args!("this deletes all records of {partitions}"));
            }
        }
        Ok(())
    }
}
