//! Counting by window, and publishing each count once.

use std::time::Duration;

use super::{Audit, Windows};
use crate::client::producer::delivery::BatchAck;
use crate::client::{ClientError, ProducerConfig};
use crate::types::{Timestamp, TopicName};

const WINDOW: Duration = Duration::from_millis(100);

fn audit() -> Audit {
    let config = ProducerConfig {
        audit: Some("front".to_owned()),
        audit_window: Some(WINDOW),
        ..ProducerConfig::default()
    };
    Audit::of(&config, "p-1".to_owned()).unwrap()
}

fn topic(name: &str) -> TopicName {
    name.parse().unwrap()
}

fn windows(times: &[i64]) -> Windows {
    let mut windows = Windows::default();
    for &time in times {
        windows.add(WINDOW, Timestamp::from_millis(time));
    }
    windows
}

fn published(audit: &Audit) -> Vec<(u64, String, i64, u64)> {
    let mut texts = Vec::new();
    let has_published = audit.publish(|text| {
        texts.push(text.to_owned());
        Ok(true)
    });
    assert_eq!(has_published.unwrap(), !texts.is_empty());
    let rows = texts.iter().map(|text| {
        let row: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!((&row["tier"], &row["producer"]), (&"front".into(), &"p-1".into()));
        assert_eq!(row["window_ms"], 100);
        let topic = row["topic"].as_str().unwrap().to_owned();
        let from = row["from_ms"].as_i64().unwrap();
        (row["number"].as_u64().unwrap(), topic, from, row["count"].as_u64().unwrap())
    });
    rows.collect()
}

#[test]
fn a_window_counts_the_records_with_its_timestamps() {
    assert_eq!(windows(&[0, 99, 100, 50, 350]).counts(), [(0, 3), (100, 1), (300, 1)]);
    assert_eq!(windows(&[-1, -100, -101]).counts(), [(-100, 2), (-200, 1)]);
}

#[test]
fn delivered_records_are_published_once_with_consecutive_numbers() {
    let audit = audit();
    let ack = BatchAck::default();
    audit.count(&topic("a"), &windows(&[5, 105]), &ack);
    audit.count(&topic("a"), &windows(&[7]), &ack);
    audit.count(&topic("b"), &windows(&[7]), &ack);
    assert!(audit.has_counts());
    let first = [(0, "a".to_owned(), 0, 2), (1, "a".to_owned(), 100, 1), (2, "b".to_owned(), 0, 1)];
    assert_eq!(published(&audit), first);
    assert!(!audit.has_counts());
    audit.count(&topic("a"), &windows(&[9]), &ack);
    assert_eq!(published(&audit), [(3, "a".to_owned(), 0, 1)]);
}

#[test]
fn a_count_that_cannot_be_sent_is_kept() {
    let audit = audit();
    audit.count(&topic("a"), &windows(&[5, 105]), &BatchAck::default());
    let mut sent = 0;
    let has_published = audit.publish(|_| {
        sent += 1;
        Ok(sent == 1)
    });
    assert!(has_published.unwrap());
    assert!(audit.publish(|_| Err(ClientError::Closed)).is_err());
    assert_eq!(published(&audit), [(1, "a".to_owned(), 100, 1)]);
}

#[test]
fn the_broker_timestamp_is_used_and_audit_records_are_not_counted() {
    let audit = audit();
    let ack =
        BatchAck { log_append_time: Some(Timestamp::from_millis(750)), ..BatchAck::default() };
    audit.count(&topic("a"), &windows(&[5, 105]), &ack);
    audit.count(&topic(super::TOPIC), &windows(&[5]), &ack);
    assert_eq!(published(&audit), [(0, "a".to_owned(), 700, 2)]);
}
