//! The guarantees of producers.

use std::thread;
use std::time::Duration;

use streamlog::client::{
    Client, ClientError, ConsumerConfig, NewTopic, Producer, ProducerConfig, ProducerRecord,
    RecordMetadata,
};
use streamlog::config::ByteSize;

use crate::cluster::TestBroker;

const PATIENCE: Option<Duration> = Some(Duration::from_mins(1));

fn record<'a>(topic: &'a str, value: &'a [u8]) -> ProducerRecord<'a> {
    ProducerRecord { topic, value: Some(value), ..ProducerRecord::default() }
}

/// All values of a topic with one partition.
fn values(client: &Client, topic: &str) -> Vec<Vec<u8>> {
    let consumer = client.consumer(&[topic], ConsumerConfig::default()).unwrap();
    let messages = consumer.until_end().unwrap();
    messages.map(|message| message.unwrap().value().unwrap().to_vec()).collect()
}

#[test]
fn a_record_is_stored_at_the_offset_in_its_ticket() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for offset in 0..3 {
        let keyed = ProducerRecord { key: Some(b"k"), ..record("t", b"v") };
        let RecordMetadata { topic, offset: told, .. } =
            producer.send(&keyed).unwrap().wait(PATIENCE).unwrap();
        assert_eq!((topic.as_str(), told.unwrap().get()), ("t", offset));
    }
    producer.close(PATIENCE).unwrap();
    assert!(matches!(producer.send(&record("t", b"v")), Err(ClientError::Closed)));
}

#[test]
fn a_producer_does_not_bring_back_a_topic_that_was_deleted() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let send = |producer: &Producer, value: &[u8]| {
        producer.send(&record("t", value)).unwrap().wait(PATIENCE)
    };
    client.admin().create_topic("t", &NewTopic::default()).unwrap();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    send(&producer, b"before").unwrap();
    client.admin().delete_topic("t").unwrap();

    let lost = send(&producer, b"lost");
    assert!(
        matches!(&lost, Err(ClientError::TopicNotFound { topic, .. }) if topic == "t"),
        "{lost:?}"
    );
    assert!(client.admin().topics().unwrap().is_empty());

    client.admin().create_topic("t", &NewTopic::default()).unwrap();
    send(&producer, b"after").unwrap();
    assert_eq!(values(&client, "t"), [b"after"]);
}

#[test]
fn a_sender_faster_than_the_broker_blocks_and_loses_nothing() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let config = ProducerConfig { buffer: ByteSize(4 << 10), ..ProducerConfig::default() };
    let producer = client.producer(config).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    producer.send(&record("t", &[b'x'; 100])).unwrap();
                }
            });
        }
    });
    producer.close(PATIENCE).unwrap();
    assert_eq!(values(&client, "t").len(), 2_000);
}

#[test]
fn a_record_larger_than_any_batch_is_refused_at_once() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    let refused = producer.send(&record("t", &vec![0; 2 << 20]));
    assert!(matches!(refused, Err(ClientError::MessageTooLarge { limit: Some(1_048_576), .. })));
}

#[test]
fn a_batch_too_large_for_the_topic_is_refused_with_its_size() {
    let broker = TestBroker::start();
    let client = broker.connect();
    let configs = vec![("max.message.bytes".to_owned(), "1000".to_owned())];
    client.admin().create_topic("t", &NewTopic { configs, ..NewTopic::default() }).unwrap();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    let refused = producer.send(&record("t", &[b'x'; 2_000])).unwrap().wait(PATIENCE);
    let Err(error @ ClientError::MessageTooLarge { size, limit: None }) = refused else {
        panic!("{refused:?}")
    };
    assert!(size > 2_000 && error.to_string().contains("max.message.bytes"), "{error}");
    producer.send(&record("t", b"fits")).unwrap().wait(PATIENCE).unwrap();
    assert_eq!(values(&client, "t"), [b"fits"]);
}

#[test]
fn restarts_of_the_broker_do_not_lose_repeat_or_reorder_records() {
    let mut broker = TestBroker::start();
    let client = broker.connect();
    let config = ProducerConfig { batch_size: ByteSize(2_000), ..ProducerConfig::default() };
    let producer = client.producer(config).unwrap();
    let count = 20_000_u32;
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for number in 0..count {
                producer.send(&record("t", &number.to_be_bytes())).unwrap();
                if number % 100 == 0 {
                    thread::yield_now();
                }
            }
        });
        for _ in 0..3 {
            broker.restart();
        }
        sending.join().unwrap();
    });
    producer.close(PATIENCE).unwrap();
    let read = values(&client, "t");
    assert_eq!(read.len(), count as usize);
    assert!(read.into_iter().eq((0..count).map(|number| number.to_be_bytes().to_vec())));
}

#[test]
fn failures_that_no_caller_received_are_reported() {
    let mut broker = TestBroker::start();
    let client = broker.connect();
    let config = ProducerConfig {
        delivery_timeout: Duration::from_millis(300),
        ..ProducerConfig::default()
    };
    let producer = client.producer(config).unwrap();
    producer.send(&record("t", b"1")).unwrap().wait(PATIENCE).unwrap();
    broker.stop();
    let asked = producer.send(&record("t", b"2")).unwrap();
    assert!(matches!(asked.wait(PATIENCE), Err(ClientError::Timeout { .. })));
    producer.flush(PATIENCE).unwrap();
    producer.send(&record("t", b"3")).unwrap();
    let reported = producer.close(PATIENCE).unwrap_err();
    let ClientError::Delivery { failures, unlisted: 0 } = reported else { panic!("{reported}") };
    assert_eq!((failures.len(), failures[0].records), (1, 1));
}

#[test]
fn closing_a_client_closes_its_producers_and_consumers() {
    let broker = TestBroker::start();
    let (client, other) = (broker.connect(), broker.connect());
    other.admin().create_topic("t", &NewTopic::default()).unwrap();
    let slow = ProducerConfig { linger: Duration::from_mins(1), ..ProducerConfig::default() };
    let producer = client.producer(slow.clone()).unwrap();
    let consumer = client.consumer(&["t"], ConsumerConfig::default()).unwrap();
    drop(client.producer(slow).unwrap());
    let tickets: Vec<_> = (0..100).map(|_| producer.send(&record("t", b"v")).unwrap()).collect();
    client.close().unwrap();
    assert!(tickets.iter().all(|ticket| ticket.outcome().unwrap().is_ok()));
    assert_eq!(values(&other, "t").len(), 100);
    assert!(consumer.is_closed());
    assert!(matches!(producer.send(&record("t", b"v")), Err(ClientError::Closed)));
    producer.close(PATIENCE).unwrap();
    client.close().unwrap();
}

#[test]
fn closing_a_client_reports_the_failures_of_its_producers() {
    let mut broker = TestBroker::start();
    let client = broker.connect();
    let config = ProducerConfig {
        delivery_timeout: Duration::from_millis(300),
        ..ProducerConfig::default()
    };
    let producers = [(); 2].map(|()| client.producer(config.clone()).unwrap());
    for producer in &producers {
        producer.send(&record("t", b"1")).unwrap().wait(PATIENCE).unwrap();
    }
    broker.stop();
    for producer in &producers {
        producer.send(&record("t", b"2")).unwrap();
    }
    let reported = client.close().unwrap_err();
    let ClientError::Delivery { failures, unlisted: 0 } = reported else { panic!("{reported}") };
    assert_eq!(failures.len(), 2);
    for producer in &producers {
        producer.close(PATIENCE).unwrap();
    }
}
