//! Measures the rates of streamlog's Rust client with a broker.
//!
//! `client HOST:PORT RECORDS` publishes RECORDS records of 200 bytes to one partition, waits for
//! their delivery, reads them all back, and prints both rates as a line of JSON.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use streamlog::client::{Client, ClientConfig, ConsumerConfig, ProducerConfig, ProducerRecord};
use streamlog::config::ByteSize;
use streamlog::io::{Clock, SystemClock};
use streamlog::types::PartitionIndex;

const TOPIC: &str = "client";
const RECORD_BYTES: usize = 200;

/// The timeout of each step.
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, records] = arguments.as_slice() else {
        return Err("client HOST:PORT RECORDS".into());
    };
    let records: u32 = records.parse()?;
    let config = ClientConfig { bootstrap: vec![address.parse()?], ..ClientConfig::default() };
    let client = Client::connect(config)?;
    produce(&client, records / 10)?; // A warm-up, which is read as well.
    let produced = produce(&client, records)?;
    let consumed = consume(&client, records + records / 10)?;
    let line = format!(
        "{{\"produced_per_second\": {produced:.0}, \"consumed_per_second\": {consumed:.0}}}"
    );
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// Publishes the records, and returns records a second, delivery included.
fn produce(client: &Client, records: u32) -> Result<f64, Box<dyn Error>> {
    let config = ProducerConfig { batch_size: ByteSize(1 << 20), ..ProducerConfig::default() };
    let producer = client.producer(config)?;
    let record = ProducerRecord {
        topic: TOPIC,
        partition: Some(PartitionIndex(0)),
        value: Some(&[b'x'; RECORD_BYTES]),
        ..ProducerRecord::default()
    };
    producer.send(&record)?.wait(Some(PATIENCE))?;
    let began = SystemClock.monotonic();
    for _ in 1..records {
        producer.send(&record)?;
    }
    producer.flush(Some(PATIENCE))?;
    Ok(f64::from(records) / seconds_since(began))
}

/// Reads the records, and returns records a second, each value examined.
fn consume(client: &Client, records: u32) -> Result<f64, Box<dyn Error>> {
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default())?;
    let began = SystemClock.monotonic();
    for _ in 0..records {
        let message = consumer.next(Some(PATIENCE))?.ok_or("a record is missing")?;
        if message.value().map(<[u8]>::len) != Some(RECORD_BYTES) {
            return Err("a value of another length".into());
        }
    }
    Ok(f64::from(records) / seconds_since(began))
}

fn seconds_since(began: Duration) -> f64 {
    SystemClock.monotonic().saturating_sub(began).as_secs_f64()
}
