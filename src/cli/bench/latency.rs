//! `streamlog bench latency`: the time from a record's scheduled sending until a consumer has it.
//!
//! Records are sent on a fixed schedule, and a late record counts from its scheduled time, so that
//! a stall shows in full (no coordinated omission). A value starts with the id of the run and the
//! record's time, so that records of other producers are ignored.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use uuid::Uuid;

use crate::cli::bench::figures::Latencies;
use crate::cli::bench::produce::acks;
use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::progress::{Progress, Unit};
use crate::cli::{ClusterOptions, CommandError, CtrlC};
use crate::client::{
    Client, ClientError, Clock, Consumer, ConsumerConfig, Producer, ProducerRecord, Start,
    SystemClock,
};
use crate::config::in_unit_of;

/// Size of the run id and the time.
const MARK: usize = 16 + 8;
/// The longest wait for a record.
const PATIENCE: Duration = Duration::from_secs(30);

/// Publishes records at a fixed rate, and measures the time until each is consumed
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Number of records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    records: u32,
    /// Size of each value in bytes, at least 24
    #[arg(short, long, value_name = "BYTES", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(24..))]
    size: u32,
    /// Records per second
    #[arg(short, long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Time a batch waits for more records: milliseconds, or with a unit as in 5ms
    #[arg(long, value_name = "TIME", default_value = "0")]
    linger: String,
    /// Acknowledgement for a delivered record: all, 1 or 0 [default: all]
    #[arg(long, value_name = "ACKS")]
    acks: Option<String>,
}

#[derive(Serialize)]
struct LatencyRow {
    topic: String,
    acks: &'static str,
    record_bytes: u32,
    rate: u32,
    records: u64,
    p50_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    max_ms: f64,
}

impl Row for LatencyRow {
    const COLUMNS: &'static [&'static str] = &[
        "topic",
        "acks",
        "record_bytes",
        "rate",
        "records",
        "p50_ms",
        "p99_ms",
        "p999_ms",
        "max_ms",
    ];
}

/// A run: the producer, the consumer and the results.
struct Run<'a> {
    topic: &'a str,
    id: Uuid,
    value: Vec<u8>,
    producer: Producer,
    consumer: Consumer,
    latencies: Latencies,
    ctrl_c: &'static CtrlC,
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let mut settings = cluster.settings()?;
        let linger = in_unit_of("linger.ms", &self.linger);
        settings.set_all([("linger.ms", linger.as_str())])?;
        settings.set_all(self.acks.iter().map(|acks| ("acks", acks.as_str())))?;
        let (client, _) = cluster.connect()?;
        let acks = acks(settings.producer.acks);
        let producer = client.producer(settings.producer)?;
        // Creates the topic if brokers create topics automatically.
        producer.partition_count(&self.topic)?;
        let mut course = Run {
            topic: &self.topic,
            id: Uuid::new_v4(),
            value: vec![b'x'; self.size as usize],
            producer,
            consumer: at_the_end(&client, &self.topic, settings.consumer)?,
            latencies: Latencies::new(),
            ctrl_c: cluster.ctrl_c()?,
        };
        // The first record opens the connections, and is not counted.
        course.send(SystemClock.monotonic())?;
        course.await_all(1)?;
        course.latencies = Latencies::new();
        self.follow_timetable(&mut course)?;
        course.await_all(self.records.into())?;
        cluster.rows().write_one(out, self.row(acks, &course.latencies))
    }

    fn follow_timetable(&self, course: &mut Run<'_>) -> Result<(), CommandError> {
        let progress = Progress::of(self.records.into(), Unit::Records);
        let interval = Duration::from_secs(1) / self.rate;
        let mut due = SystemClock.monotonic();
        for _ in 0..self.records {
            course.ctrl_c.check()?;
            due += interval;
            loop {
                let left = due.saturating_sub(SystemClock.monotonic());
                if left.is_zero() {
                    break;
                }
                course.receive(left)?;
            }
            course.send(due)?;
            progress.add(1);
        }
        Ok(())
    }

    fn row(&self, acks: &'static str, latencies: &Latencies) -> LatencyRow {
        LatencyRow {
            topic: self.topic.clone(),
            acks,
            record_bytes: self.size,
            rate: self.rate,
            records: latencies.count(),
            p50_ms: latencies.millis(0.5),
            p99_ms: latencies.millis(0.99),
            p999_ms: latencies.millis(0.999),
            max_ms: latencies.max_millis(),
        }
    }
}

impl Run<'_> {
    /// Publishes the record scheduled for this monotonic time.
    fn send(&mut self, due: Duration) -> Result<(), CommandError> {
        let nanos = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
        self.value[..16].copy_from_slice(self.id.as_bytes());
        self.value[16..MARK].copy_from_slice(&nanos.to_be_bytes());
        let value = Some(self.value.as_slice());
        let record = ProducerRecord { topic: self.topic, value, ..ProducerRecord::default() };
        self.producer.send(&record)?;
        Ok(())
    }

    /// Waits for a record and counts it if it belongs to this run. Returns true if a record
    /// arrived.
    fn receive(&mut self, timeout: Duration) -> Result<bool, CommandError> {
        let Some(message) = self.consumer.next(Some(timeout))? else { return Ok(false) };
        let now = SystemClock.monotonic();
        let mark = message.value().and_then(|value| value.first_chunk::<MARK>());
        let own = mark.and_then(|mark| mark.strip_prefix(self.id.as_bytes()));
        if let Some(due) = own.and_then(|due| due.try_into().ok()).map(u64::from_be_bytes) {
            self.latencies.add(now.saturating_sub(Duration::from_nanos(due)));
        }
        Ok(true)
    }

    /// Receives until this many records have arrived.
    fn await_all(&mut self, records: u64) -> Result<(), CommandError> {
        // Flush first, so that a failed delivery is reported instead of a timeout.
        self.producer.flush(None)?;
        while self.latencies.count() < records {
            self.ctrl_c.check()?;
            if !self.receive(PATIENCE)? {
                let operation = "reading what was published";
                let late = ClientError::Timeout { operation, elapsed: PATIENCE, last_error: None };
                return Err(late.into());
            }
        }
        Ok(())
    }
}

/// A consumer of records published from now on.
fn at_the_end(
    client: &Client,
    topic: &str,
    config: ConsumerConfig,
) -> Result<Consumer, CommandError> {
    let ends = client.admin().end_offsets(topic)?.into_iter();
    let places: Vec<_> =
        ends.filter_map(|end| Some((end.partition, Start::Offset(end.offset?)))).collect();
    Ok(client.partition_consumer(&places, config)?)
}
