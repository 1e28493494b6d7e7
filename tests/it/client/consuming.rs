//! What a consumer promises.

use std::thread;
use std::time::Duration;

use streamlog::client::{
    Client, ClientError, ConsumerConfig, ProducerConfig, ProducerRecord, Start,
};
use streamlog::config::ByteSize;
use streamlog::record::Compression;
use streamlog::types::{Offset, Timestamp};

use crate::cluster::TestBroker;

/// Publishes the numbers `0..count`, each with its own time, and waits for them.
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
fn what_was_produced_is_consumed_with_every_codec() {
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
}

#[test]
fn a_seek_goes_to_an_offset_a_time_and_either_end() {
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
        consumer.seek_all(start);
        let message = consumer.next(wait).unwrap().unwrap();
        assert_eq!((message.offset().get(), number(&message)), (first, first), "{start:?}");
    }
    consumer.seek_all(Start::Latest);
    assert!(consumer.next(Some(Duration::from_millis(100))).unwrap().is_none());
    assert_eq!(consumer.positions()[0].1, Some(Offset::new(1_000)));
}
