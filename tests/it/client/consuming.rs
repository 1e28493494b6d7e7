//! The guarantees of consumers.

use std::thread;
use std::time::Duration;

use streamlog::client::{
    Client, ClientError, Consumer, ConsumerConfig, NewTopic, ProducerConfig, ProducerRecord, Start,
};
use streamlog::config::ByteSize;
use streamlog::record::Compression;
use streamlog::types::{Offset, Timestamp};

use crate::cluster::TestBroker;

/// Publishes the numbers `0..count` with increasing timestamps, and waits for their delivery.
fn publish(client: &Client, topic: &str, count: i64, config: ProducerConfig) {
    let producer = client.producer(config).unwrap();
    for number in 0..count {
        let value = number.to_string();
        let record = ProducerRecord {
            topic,
            value: Some(value.as_bytes()),
            timestamp: Some(Timestamp::from_millis(1_000_000 + number)),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(Some(Duration::from_secs(30))).unwrap();
}

fn number(message: &streamlog::client::Message) -> i64 {
    std::str::from_utf8(message.value().unwrap()).unwrap().parse().unwrap()
}

#[test]
fn records_are_produced_and_consumed_with_every_codec() {
    let broker = TestBroker::start();
    let client = broker.connect();
    for compression in Compression::ALL {
        let topic = format!("packed-{compression}");
        let config = ProducerConfig { compression, ..ProducerConfig::default() };
        publish(&client, &topic, 20_000, config);
        let consumer = client.consumer(&[&topic], ConsumerConfig::default()).unwrap();
        let read: Vec<i64> =
            consumer.until_end().unwrap().map(|message| number(&message.unwrap())).collect();
        assert_eq!(read.len(), 20_000, "{compression}");
        assert!(read.into_iter().eq(0..20_000), "{compression}");
    }
}

#[test]
fn closing_from_another_thread_ends_the_iteration() {
    let broker = TestBroker::start();
    let client = broker.connect();
    publish(&client, "t", 3, ProducerConfig::default());
    let consumer = client.consumer(&["t"], ConsumerConfig::default()).unwrap();
    thread::scope(|scope| {
        let reading = scope.spawn(|| consumer.iter().map(Result::unwrap).count());
        while consumer.positions()[0].1 != Some(Offset::new(3)) {
            thread::yield_now();
        }
        consumer.close();
        assert_eq!(reading.join().unwrap(), 3);
    });
    assert!(matches!(consumer.try_next(), Err(ClientError::Closed)));
    assert!(matches!(consumer.seek_all(Start::Earliest), Err(ClientError::Closed)));
    let partition = &consumer.assignment()[0];
    assert!(matches!(consumer.set_paused(partition, true), Err(ClientError::Closed)));
}

#[test]
fn a_seek_goes_to_an_offset_a_timestamp_or_either_end() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let config = ProducerConfig { batch_size: ByteSize(500), ..ProducerConfig::default() };
    publish(&client, "t", 1_000, config);
    let config = ConsumerConfig { start: Start::Latest, ..ConsumerConfig::default() };
    let consumer = client.consumer(&["t"], config).unwrap();
    assert_eq!(consumer.next(Some(Duration::from_millis(100))).unwrap().map(|m| m.offset()), None);
    let wait = Some(Duration::from_secs(10));
    for (start, first) in [
        (Start::Earliest, 0),
        (Start::Offset(Offset::new(777)), 777),
        (Start::Time(Timestamp::from_millis(1_000_123)), 123),
        (Start::Offset(Offset::new(5)), 5),
    ] {
        consumer.seek_all(start).unwrap();
        let message = consumer.next(wait).unwrap().unwrap();
        assert_eq!((message.offset().get(), number(&message)), (first, first), "{start:?}");
    }
    consumer.seek_all(Start::Latest).unwrap();
    // Looking up the end takes some time.
    let is_known = || consumer.positions()[0].1.is_some();
    for _ in 0..100 {
        assert!(consumer.next(Some(Duration::from_millis(100))).unwrap().is_none());
        if is_known() {
            break;
        }
    }
    assert_eq!(consumer.positions()[0].1, Some(Offset::new(1_000)));
}

/// The numbers up to the current ends, which must be reached soon.
fn read_to_end(consumer: &Consumer) -> Vec<i64> {
    let rest = consumer.until_end().unwrap();
    let mut numbers = Vec::new();
    while let Some(message) = rest.next_within(Some(Duration::from_secs(5))).unwrap() {
        numbers.push(number(&message));
    }
    assert!(rest.is_done(), "{:?} after {} numbers", consumer.positions(), numbers.len());
    numbers
}

/// A topic with byte offsets.
fn create_by_bytes(client: &Client, topic: &str, partitions: i32) {
    let configs = vec![("offset.unit".to_owned(), "byte".to_owned())];
    let new = NewTopic { partitions: Some(partitions), configs, ..NewTopic::default() };
    client.admin().create_topic(topic, &new).unwrap();
}

#[test]
fn a_start_in_the_gap_after_the_last_record_is_at_the_end_at_once() {
    let broker = TestBroker::start();
    let client = broker.connect();
    create_by_bytes(&client, "t", 1);
    publish(&client, "t", 10, ProducerConfig::default());
    let patient =
        ConsumerConfig { fetch_wait: Duration::from_mins(1), ..ConsumerConfig::default() };
    let consumer = client.consumer(&["t"], patient.clone()).unwrap();
    assert!(read_to_end(&consumer).into_iter().eq(0..10));
    let end = consumer.positions()[0].1.unwrap();
    assert!(end > Offset::new(20), "{end}");
    let gap = Start::Offset(Offset::new(end.get() - 1));
    consumer.seek_all(gap).unwrap();
    assert!(read_to_end(&consumer).is_empty());

    let late = client.consumer(&["t"], ConsumerConfig { start: gap, ..patient }).unwrap();
    assert!(read_to_end(&late).is_empty());
    assert_eq!(late.positions()[0].1, Some(end));
    publish(&client, "t", 5, ProducerConfig::default());
    assert!(read_to_end(&late).into_iter().eq(0..5), "records after the gap are read");
}

#[test]
fn records_left_out_of_a_full_response_are_not_taken_for_a_gap() {
    let broker = TestBroker::start();
    let client = broker.connect();
    create_by_bytes(&client, "t", 3);
    let small = ProducerConfig { batch_size: ByteSize(200), ..ProducerConfig::default() };
    publish(&client, "t", 300, small);
    let config = ConsumerConfig { fetch_max: ByteSize(1), ..ConsumerConfig::default() };
    let consumer = client.consumer(&["t"], config).unwrap();
    let mut numbers = read_to_end(&consumer);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..300));
}
