//! `streamlog partition damage`: damaged ranges, in offsets and in bytes.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::{ClusterOptions, CommandError};
use crate::client::DamagedStretch;

/// Lists the damaged ranges that the brokers know of
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the topics [default: all]
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topics: Vec<String>,
}

#[derive(Serialize)]
struct DamageRow {
    topic: String,
    partition: i32,
    first_offset: i64,
    next_offset: i64,
    is_skipped: bool,
    broker: i32,
    file: String,
    start_position: u64,
    end_position: u64,
}

impl Row for DamageRow {
    const COLUMNS: &'static [&'static str] = &[
        "topic",
        "partition",
        "first_offset",
        "next_offset",
        "is_skipped",
        "broker",
        "file",
        "start_position",
        "end_position",
    ];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let admin = cluster.connect()?.0.admin();
        for topic in &self.topics {
            // Fail for a missing topic, which would otherwise look undamaged.
            admin.topic(topic)?;
        }
        let is_asked = |stretch: &DamagedStretch| {
            let name = stretch.partition.topic.as_str();
            self.topics.is_empty() || self.topics.iter().any(|topic| topic == name)
        };
        let damage = admin.damage()?;
        cluster.rows().write(out, damage.into_iter().filter(is_asked).map(DamageRow::new))
    }
}

impl DamageRow {
    fn new(stretch: DamagedStretch) -> Self {
        Self {
            topic: stretch.partition.topic.to_string(),
            partition: stretch.partition.partition.0,
            first_offset: stretch.first.get(),
            next_offset: stretch.next.get(),
            is_skipped: stretch.is_skipped,
            broker: stretch.broker.0,
            file: stretch.file,
            start_position: stretch.positions.start,
            end_position: stretch.positions.end,
        }
    }
}
