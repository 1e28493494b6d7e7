//! Records that were removed: deleted ones stay deleted whoever leads, and replicas take the gaps
//! that compaction has left.

use std::thread;
use std::time::{Duration, Instant};

use streamlog::client::{Client, ProducerConfig, ProducerRecord, Resource};
use streamlog::types::{Offset, PartitionIndex, TopicPartition};

use super::load::read_all;
use super::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "removed";

#[test]
fn records_that_were_deleted_do_not_return_when_the_leader_is_killed() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..100 {
        let value = number.to_string();
        let record = ProducerRecord {
            topic: TOPIC,
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(None).unwrap();

    let partition = TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) };
    let leader = cluster.leader(TOPIC);
    let start = client.admin().delete_records(&partition, Offset::new(60)).unwrap();
    cluster.kill(leader);
    assert_eq!(start, Offset::new(60));
    let others: Vec<i32> = IDS.into_iter().filter(|id| *id != leader).collect();
    cluster.await_in_sync(TOPIC, &others);
    let begin = cluster.client().admin().begin_offsets(TOPIC).unwrap().remove(0);
    assert_eq!(begin.offset, Some(Offset::new(60)), "{}", cluster.logs());
}

/// Writes the same ten keys over and over.
fn write(client: &Client, numbers: std::ops::Range<u64>) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let (key, value) = ((number % 10).to_string(), number.to_string());
        let record = ProducerRecord {
            topic: TOPIC,
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        // Batches of one record each: compaction keeps a batch whole until all its records are
        // outdated.
        producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

fn set(client: &Client, settings: &[(&str, &str)]) {
    let settings: Vec<_> = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())))
        .collect();
    client.admin().alter_configs(&Resource::Topic(TOPIC.to_owned()), &settings, false).unwrap();
}

#[test]
fn an_emptied_replica_takes_the_gaps_that_compaction_has_left_in_its_leaders_log() {
    let mut cluster = ThreeBrokers::start(&[
        "log.cleaner.backoff.ms=20",
        "log.retention.check.interval.ms=20",
        "log.segment.delete.delay.ms=0",
        "replica.fetch.backoff.ms=100",
    ]);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    let compacted = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "2000"),
        ("min.cleanable.dirty.ratio", "0.01"),
    ];
    set(&client, &compacted);
    write(&client, 0..300);
    let deadline = Instant::now() + PATIENCE;
    while IDS.iter().any(|id| cluster.log_bytes(*id, TOPIC, 0).len() > 10_000) {
        assert!(Instant::now() < deadline, "nothing is compacted\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(20));
    }
    // The emptied replica is to lead alone in the end.
    set(&client, &[("cleanup.policy", "delete"), ("min.insync.replicas", "1")]);
    write(&client, 300..310);
    let expected = read_all(&client, TOPIC);

    let emptied = others(cluster.leader(TOPIC))[0];
    cluster.kill(emptied);
    cluster.empty_disk(emptied);
    cluster.start_broker(emptied);
    // Until the leader has explained the gap, the in-sync set may be the one from before the kill.
    cluster.broker(emptied).await_log("is fetched again");
    cluster.await_seen_by(emptied, TOPIC, |partition| partition.isr_nodes.len() == IDS.len());
    for id in IDS {
        if id != emptied {
            cluster.kill(id);
        }
    }
    cluster.await_seen_by(emptied, TOPIC, |partition| partition.leader_id == emptied);
    assert_eq!(read_all(&cluster.client(), TOPIC), expected);
}
