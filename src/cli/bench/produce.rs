//! `streamlog bench produce`: the write rate of a cluster.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use uuid::Uuid;

use crate::cli::bench::figures::{Latencies, mib_per_second, per_second, seconds};
use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::progress::{Progress, Unit};
use crate::cli::{ClusterOptions, CommandError, CtrlC};
use crate::client::{Acks, Clock, Producer, ProducerConfig, ProducerRecord, SystemClock, Ticket};

/// The number of records between two updates of the progress bar.
const STEP: u32 = 1000;

/// The size of the pool from which values are taken in turn. It exceeds the default size of a
/// batch, so that the values of such a batch come from different parts of the pool.
const POOL_BYTES: usize = 1 << 20;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Publishes records as fast as possible, and measures the time until each is delivered
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Number of records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000)]
    records: u32,
    /// Size of each value in bytes
    #[arg(short, long, value_name = "BYTES", default_value_t = 200)]
    size: usize,
    /// Size in bytes at which a batch is sent at once [default: 64 KiB]
    #[arg(long, value_name = "BYTES")]
    batch: Option<String>,
    /// Compression: none, gzip, snappy, lz4 or zstd [default: none]
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    /// Acknowledgement for a delivered record: all, 1 or 0 [default: all]
    #[arg(long, value_name = "ACKS")]
    acks: Option<String>,
}

/// The published values of one size: random letters, which compress somewhat, but less than text.
struct Values {
    pool: Vec<u8>,
    size: usize,
    at: usize,
}

#[derive(Serialize)]
struct ProduceRow {
    topic: String,
    acks: String,
    compression: String,
    batch_bytes: u64,
    record_bytes: usize,
    records: u64,
    seconds: f64,
    records_per_second: f64,
    mib_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    max_ms: f64,
}

impl Row for ProduceRow {
    const COLUMNS: &'static [&'static str] = &[
        "topic",
        "acks",
        "compression",
        "batch_bytes",
        "record_bytes",
        "records",
        "seconds",
        "records_per_second",
        "mib_per_second",
        "p50_ms",
        "p99_ms",
        "p999_ms",
        "max_ms",
    ];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let mut settings = cluster.settings()?;
        let own = [
            ("batch.size", &self.batch),
            ("compression.type", &self.compression),
            ("acks", &self.acks),
        ];
        settings.set_all(own.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))))?;
        let (client, _) = cluster.connect()?;
        let producer = client.producer(settings.producer.clone())?;
        // Looks up the topic and its leaders before the measurement.
        producer.partition_count(&self.topic)?;
        let began = SystemClock.monotonic();
        let latencies = self.publish(&producer, cluster.ctrl_c()?)?;
        let took = SystemClock.monotonic().saturating_sub(began);
        let row = self.row(&settings.producer, &latencies, took);
        cluster.rows().write_one(out, row)
    }

    /// Publishes all records and waits until the last is delivered.
    fn publish(&self, producer: &Producer, ctrl_c: &CtrlC) -> Result<Latencies, CommandError> {
        let progress = Progress::of(self.records.into(), Unit::Records);
        let mut values = Values::new(self.size);
        let mut latencies = Latencies::new();
        // Tickets in the order of sending: a delivery out of order is noticed slightly late.
        let mut waiting: VecDeque<(Ticket, Duration)> = VecDeque::new();
        for number in 0..self.records {
            ctrl_c.check()?;
            let sent_at = SystemClock.monotonic();
            let value = Some(values.draw());
            let record = ProducerRecord { topic: &self.topic, value, ..ProducerRecord::default() };
            waiting.push_back((producer.send(&record)?, sent_at));
            while let Some((ticket, sent_at)) = waiting.pop_front_if(|(ticket, _)| ticket.is_done())
            {
                ticket.wait(None)?;
                latencies.add(SystemClock.monotonic().saturating_sub(sent_at));
            }
            if number.is_multiple_of(STEP) {
                progress.set_left((self.records - number).into());
            }
        }
        for (ticket, sent_at) in waiting {
            ticket.wait(None)?;
            latencies.add(SystemClock.monotonic().saturating_sub(sent_at));
        }
        Ok(latencies)
    }

    fn row(&self, config: &ProducerConfig, latencies: &Latencies, took: Duration) -> ProduceRow {
        let records = u64::from(self.records);
        let bytes = records.saturating_mul(self.size as u64);
        ProduceRow {
            topic: self.topic.clone(),
            acks: acks(config.acks).to_owned(),
            compression: config.compression.to_string(),
            batch_bytes: config.batch_size.0,
            record_bytes: self.size,
            records,
            seconds: seconds(took),
            records_per_second: per_second(records, took),
            mib_per_second: mib_per_second(bytes, took),
            p50_ms: latencies.millis(0.5),
            p99_ms: latencies.millis(0.99),
            p999_ms: latencies.millis(0.999),
            max_ms: latencies.max_millis(),
        }
    }
}

impl Values {
    /// Values of `size` bytes.
    fn new(size: usize) -> Self {
        let random = std::iter::repeat_with(Uuid::new_v4).flat_map(Uuid::into_bytes);
        let letters = random.map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
        let pool = letters.take(POOL_BYTES + size).collect();
        Self { pool, size, at: 0 }
    }

    /// Returns the next value.
    fn draw(&mut self) -> &[u8] {
        let begin = self.at;
        self.at = (begin + self.size) % POOL_BYTES;
        &self.pool[begin..begin + self.size]
    }
}

/// The acknowledgement as on the command line.
pub(super) fn acks(acks: Acks) -> &'static str {
    match acks {
        Acks::All => "all",
        Acks::Leader => "1",
        Acks::None => "0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_size_and_differ() {
        let mut values = Values::new(300_000);
        let first = values.draw().to_vec();
        for _ in 0..10 {
            let next = values.draw();
            assert_eq!(next.len(), 300_000);
            assert_ne!(next, first);
        }
        assert!(Values::new(0).draw().is_empty());
    }
}
