//! Measures the rates of the engine without a socket.
//!
//! `embedded DIR RECORDS` appends RECORDS records of 200 bytes in batches of 50, waits until they
//! are flushed, and reads them back; then it appends single records and waits for each. It prints
//! both rates and the median and 99th percentile of the waits, in microseconds, as a line of JSON.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use streamlog::embedded::{Logs, Partition, Start};
use streamlog::io::{Clock, SystemClock};

const TOPIC: &str = "embedded";
const VALUE: [u8; 200] = [b'x'; 200];
const BATCH: usize = 50;

/// The number of appends waited for one by one.
const WAITS: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, records] = arguments.as_slice() else {
        return Err("embedded DIR RECORDS".into());
    };
    let records: usize = records.parse()?;
    let logs = Logs::open(dir)?;
    logs.ensure_topic(TOPIC, 1, &[])?;
    let log = logs.partition(TOPIC, 0)?;
    append(&log, records / 10)?; // A warm-up, which is read as well.
    let appended = append(&log, records)?;
    let read = read(&log)?;
    let waits = wait(&log)?;
    let micros = |quantile: usize| waits[quantile * (WAITS - 1) / 100].as_secs_f64() * 1e6;
    let (p50, p99) = (micros(50), micros(99));
    let line = format!(
        "{{\"appended_per_second\": {appended:.0}, \"read_per_second\": {read:.0}, \
         \"flushed_p50\": {p50:.1}, \"flushed_p99\": {p99:.1}}}"
    );
    writeln!(std::io::stdout(), "{line}")?;
    logs.close()?;
    Ok(())
}

/// Appends all records, and returns records a second, the last flush included.
fn append(log: &Partition, records: usize) -> Result<f64, Box<dyn Error>> {
    let began = SystemClock.monotonic();
    let mut last = None;
    for _ in 0..records / BATCH {
        last = Some(log.append([VALUE.as_slice(); BATCH])?);
    }
    if let Some(ticket) = last {
        ticket.wait_flushed()?;
    }
    Ok(rate(records, began))
}

/// Reads all records, and returns records a second.
fn read(log: &Partition) -> Result<f64, Box<dyn Error>> {
    let began = SystemClock.monotonic();
    let mut count = 0;
    for record in log.read(Start::Earliest)? {
        if record?.value.as_deref().map(<[u8]>::len) != Some(VALUE.len()) {
            return Err("a value of another length".into());
        }
        count += 1;
    }
    Ok(rate(count, began))
}

/// The time of each append until it was flushed, in order.
fn wait(log: &Partition) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut waits = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let began = SystemClock.monotonic();
        log.append([VALUE.as_slice()])?.wait_flushed()?;
        waits.push(SystemClock.monotonic().saturating_sub(began));
    }
    waits.sort_unstable();
    Ok(waits)
}

#[expect(clippy::cast_precision_loss, reason = "a count of records is far below 2^53")]
fn rate(records: usize, began: Duration) -> f64 {
    records as f64 / SystemClock.monotonic().saturating_sub(began).as_secs_f64()
}
