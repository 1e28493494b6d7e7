//! `streamlog bench latency`: from the moment a record should be sent until a consumer has it.
//!
//! Records leave by a timetable, whatever the cluster does, and one that leaves late still counts
//! from its place in the timetable, so that a stall is felt in full. A value begins with the number
//! of the run and the record's time: what others publish meanwhile is passed over.

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
use crate::cli::{CommandError, CtrlC, Reach};
use crate::client::{
    Client, ClientError, Clock, Consumer, ConsumerConfig, Producer, ProducerRecord, Start,
    SystemClock,
};
use crate::config::in_unit_of;

/// Bytes of the run and of the time.
const MARK: usize = 16 + 8;
/// How long a record may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);

/// Publishes records one by one at a fixed rate, and times each until it is consumed
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// How many records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    records: u32,
    /// Bytes of each value, 24 at least
    #[arg(short, long, value_name = "BYTES", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(24..))]
    size: u32,
    /// Records in a second
    #[arg(short, long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// How long a batch waits for more records: milliseconds, or as 5ms
    #[arg(long, value_name = "TIME", default_value = "0")]
    linger: String,
    /// When a record counts as delivered: all, 1 or 0 [default: all]
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

/// One run: who publishes, who reads, and what came of it.
struct Course<'a> {
    topic: &'a str,
    run: Uuid,
    value: Vec<u8>,
    producer: Producer,
    consumer: Consumer,
    latencies: Latencies,
    ctrl_c: &'static CtrlC,
}

impl Options {
    pub(super) fn answer(self, reach: &Reach, out: &mut dyn Write) -> Result<(), CommandError> {
        let mut settings = reach.settings()?;
        let linger = in_unit_of("linger.ms", &self.linger);
        settings.set_all([("linger.ms", linger.as_str())])?;
        settings.set_all(self.acks.iter().map(|acks| ("acks", acks.as_str())))?;
        let (client, _) = reach.connect()?;
        let acks = acks(settings.producer.acks);
        let producer = client.producer(settings.producer)?;
        // Makes the topic, where brokers make topics by themselves.
        producer.partition_count(&self.topic)?;
        let mut course = Course {
            topic: &self.topic,
            run: Uuid::new_v4(),
            value: vec![b'x'; self.size as usize],
            producer,
            consumer: at_the_end(&client, &self.topic, settings.consumer)?,
            latencies: Latencies::new(),
            ctrl_c: reach.ctrl_c()?,
        };
        // The first finds the way, and is not counted.
        course.send(SystemClock.monotonic())?;
        course.await_all(1)?;
        course.latencies = Latencies::new();
        self.follow_timetable(&mut course)?;
        course.await_all(self.records.into())?;
        reach.rows().write_one(out, self.row(acks, &course.latencies))
    }

    fn follow_timetable(&self, course: &mut Course<'_>) -> Result<(), CommandError> {
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

impl Course<'_> {
    /// Publishes the record that is due at this time of the monotonic clock.
    fn send(&mut self, due: Duration) -> Result<(), CommandError> {
        let nanos = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
        self.value[..16].copy_from_slice(self.run.as_bytes());
        self.value[16..MARK].copy_from_slice(&nanos.to_be_bytes());
        let value = Some(self.value.as_slice());
        let record = ProducerRecord { topic: self.topic, value, ..ProducerRecord::default() };
        self.producer.send(&record)?;
        Ok(())
    }

    /// Waits for a record, and counts it if it is one of this run. Whether one came.
    fn receive(&mut self, timeout: Duration) -> Result<bool, CommandError> {
        let Some(message) = self.consumer.next(Some(timeout))? else { return Ok(false) };
        let now = SystemClock.monotonic();
        let mark = message.value().and_then(|value| value.first_chunk::<MARK>());
        let own = mark.and_then(|mark| mark.strip_prefix(self.run.as_bytes()));
        if let Some(due) = own.and_then(|due| due.try_into().ok()).map(u64::from_be_bytes) {
            self.latencies.add(now.saturating_sub(Duration::from_nanos(due)));
        }
        Ok(true)
    }

    /// Receives until there are so many.
    fn await_all(&mut self, records: u64) -> Result<(), CommandError> {
        // What could not be delivered is said before it is waited for.
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

/// A consumer of what is published from now on.
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
