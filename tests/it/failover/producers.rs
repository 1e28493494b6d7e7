//! An idempotent producer whose partition changes its leader, also to a replica that can know the
//! producer only by a batch of which compaction has removed all records.

use std::thread;
use std::time::{Duration, Instant};

use streamlog::client::Resource;
use streamlog::record::{BatchBuilder, BatchSettings, Compressor, ProducerStamp};
use streamlog::types::{ProducerEpoch, ProducerId, Timestamp};
use streamlog::wire::ErrorCode;

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};
use crate::support::TOPIC;

const ALL: i16 = -1;

/// The value of the batch that is sent again.
const OLD: u64 = 1_111_111_111;
/// The value that another producer has given the same key since.
const NEW: u64 = 2_222_222_222;

/// A batch of one record.
fn batch(key: &str, value: u64, producer: Option<ProducerStamp>) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    let (time, value) = (Timestamp::from_millis(1_700_000_000_000), value.to_string());
    builder.push(time, Some(key.as_bytes()), Some(value.as_bytes()), &[]).unwrap();
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    builder.build(&settings, &mut Compressor::none()).unwrap()
}

/// The first batch of an idempotent producer.
fn first_batch_of(producer: i64, value: u64) -> Vec<u8> {
    let stamp =
        ProducerStamp { id: ProducerId(producer), epoch: ProducerEpoch(0), base_sequence: 0 };
    batch("key", value, Some(stamp))
}

/// Sends a batch to a broker until it answers as the leader. Returns the offset.
fn send(cluster: &ThreeBrokers, to: i32, batch: &[u8]) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match cluster.broker(to).connect().produce(batch.to_vec(), ALL).unwrap() {
            Ok(offset) => return offset,
            // It leads, and waits until no earlier leader can answer any more.
            Err(ErrorCode::NotLeaderOrFollower) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(50));
            }
            Err(code) => panic!("{code:?}\n{}", cluster.logs()),
        }
    }
}

/// Waits until compaction has removed a value from the log of a broker.
fn await_compacted(cluster: &ThreeBrokers, broker: i32, value: u64) {
    let (value, deadline) = (value.to_string(), Instant::now() + PATIENCE);
    let has = |bytes: &[u8]| bytes.windows(value.len()).any(|part| part == value.as_bytes());
    while has(&cluster.log_bytes(broker, TOPIC, 0)) {
        assert!(Instant::now() < deadline, "nothing is compacted\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_idempotent_producer_neither_repeats_nor_skips_a_record_when_its_leaders_are_killed() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    for _ in 0..2 {
        load.await_more(200);
        let leader = cluster.leader(TOPIC);
        cluster.kill(leader);
        load.await_more(200);
        cluster.start_broker(leader);
        cluster.await_in_sync(TOPIC, &IDS);
    }
    let acknowledged = load.stop();

    let read = read_all(&cluster.client(), TOPIC);
    assert_kept(&acknowledged, &read);
    // The producer was told of no failure, so every number was stored, and once.
    let numbers: Vec<u64> = read.into_values().collect();
    assert_eq!(numbers, (0..acknowledged.len() as u64).collect::<Vec<_>>());
}

/// Sends the last batch of a producer again, to a replica that was away while the batch was written
/// and emptied.
fn is_stored_once(is_wiped: bool) {
    let mut cluster = ThreeBrokers::start(&[
        "log.cleaner.backoff.ms=20",
        "log.retention.check.interval.ms=20",
        "log.segment.delete.delay.ms=0",
        "replica.lag.time.max.ms=1000",
    ]);
    cluster.make_topic(TOPIC, 1);
    let compacted = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "2000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        // The replica is to lead alone in the end.
        ("min.insync.replicas", "1"),
    ];
    let compacted = compacted.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    let topic = Resource::Topic(TOPIC.to_owned());
    cluster.client().admin().alter_configs(&topic, &compacted, false).unwrap();
    let leader = cluster.leader(TOPIC);
    let away = others(leader)[0];
    cluster.kill(away);
    cluster.await_in_sync(TOPIC, &others(away));
    let old = first_batch_of(7, OLD);
    let offset = send(&cluster, leader, &old);
    send(&cluster, leader, &first_batch_of(8, NEW));
    for number in 0..60 {
        send(&cluster, leader, &batch("another", number, None));
    }
    await_compacted(&cluster, leader, OLD);

    if is_wiped {
        cluster.empty_disk(away);
    }
    cluster.start_broker(away);
    cluster.await_in_sync(TOPIC, &IDS);
    for id in others(away) {
        cluster.kill(id);
    }
    cluster.await_seen_by(away, TOPIC, |partition| partition.leader_id == away);
    assert_eq!(send(&cluster, away, &old), offset, "it is answered as the first time");
    let read: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
    assert!(read.contains(&NEW) && !read.contains(&OLD), "{read:?}");
}

#[test]
fn a_batch_that_was_emptied_while_a_replica_was_down_is_not_stored_again_once_that_leads() {
    is_stored_once(false);
}

#[test]
fn a_batch_that_was_emptied_before_a_replica_lost_its_disk_is_not_stored_again_once_that_leads() {
    is_stored_once(true);
}
