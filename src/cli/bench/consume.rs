//! `streamlog bench consume`: the read rate of a topic.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::cli::bench::figures::{mib_per_second, millis, per_second, seconds};
use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::progress::{Progress, Unit};
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{Clock, ConsumerConfig, Start, SystemClock};

/// The number of records between two updates of the progress bar.
const STEP: u64 = 1000;

/// Reads a topic from its beginning to its current end
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Stop after this many records
    #[arg(short = 'n', long, value_name = "N")]
    records: Option<u64>,
}

#[derive(Serialize)]
struct ConsumeRow {
    topic: String,
    records: u64,
    bytes: u64,
    seconds: f64,
    records_per_second: f64,
    mib_per_second: f64,
    first_record_ms: f64,
}

impl Row for ConsumeRow {
    const COLUMNS: &'static [&'static str] = &[
        "topic",
        "records",
        "bytes",
        "seconds",
        "records_per_second",
        "mib_per_second",
        "first_record_ms",
    ];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let (client, settings) = cluster.connect()?;
        let config = ConsumerConfig {
            start: Start::Earliest,
            auto_create_topics: false,
            ..settings.consumer
        };
        // Look the topic up first: the consumer would wait some time for it to be created.
        client.admin().topic(&self.topic)?;
        let ctrl_c = cluster.ctrl_c()?;
        let began = SystemClock.monotonic();
        let since_began = || SystemClock.monotonic().saturating_sub(began);
        let consumer = client.consumer(&[self.topic.as_str()], config)?;
        let reading = consumer.until_end()?;
        let (mut records, mut bytes) = (0_u64, 0_u64);
        let mut first = Duration::ZERO;
        let mut progress = None;
        while self.records.is_none_or(|limit| records < limit) {
            ctrl_c.check()?;
            let Some(message) = reading.next_within(None)? else { break };
            if records == 0 {
                first = since_began();
            }
            if records.is_multiple_of(STEP) {
                let left = reading.remaining();
                let bar = progress.get_or_insert_with(|| Progress::of(left, Unit::Records));
                bar.set_left(left);
            }
            let size = |part: Option<&[u8]>| part.map_or(0, <[u8]>::len);
            bytes += (size(message.key()) + size(message.value())) as u64;
            records += 1;
        }
        let took = since_began();
        drop(progress);
        let row = ConsumeRow {
            topic: self.topic,
            records,
            bytes,
            seconds: seconds(took),
            records_per_second: per_second(records, took),
            mib_per_second: mib_per_second(bytes, took),
            first_record_ms: millis(first),
        };
        cluster.rows().write_one(out, row)
    }
}
