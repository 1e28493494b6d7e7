//! Replicas of compacted topics whose disks have damage: the whole log is fetched again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::client::{Client, ConsumerConfig, ProducerConfig, ProducerRecord};

use super::damaged::{TOPIC, elect_preferred, set};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

/// The key whose tombstone is damaged.
const DELETED: &str = "the-deleted-key";

/// Sends records one by one: compaction keeps a batch whole until all its records are outdated.
fn write<'a>(client: &Client, records: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for (key, value) in records {
        let (key, value) = (Some(key.as_bytes()), value.map(str::as_bytes));
        let record = ProducerRecord { topic: TOPIC, key, value, ..ProducerRecord::default() };
        producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

/// Writes the same ten keys over and over.
fn write_others(client: &Client, count: usize) {
    let keys: Vec<String> = (0..count).map(|number| format!("key-{}", number % 10)).collect();
    write(client, keys.iter().map(|key| (key.as_str(), Some("a value"))));
}

fn contains(bytes: &[u8], key: &str) -> bool {
    bytes.windows(key.len()).any(|part| part == key.as_bytes())
}

/// Flips a bit of the last record of a key, in the log of a broker that does not run.
fn damage_last(cluster: &ThreeBrokers, id: i32, key: &str) {
    assert!(!cluster.runs(id));
    let folder = cluster.data(id).join(format!("{TOPIC}-0"));
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut segments: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "log")).collect();
    segments.sort();
    for path in segments.iter().rev() {
        let bytes = fs::read(path).unwrap();
        let Some(at) = bytes.windows(key.len()).rposition(|part| part == key.as_bytes()) else {
            continue;
        };
        let file = fs::File::options().write(true).open(path).unwrap();
        return file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
    }
    panic!("{key} is in none of {segments:?}");
}

/// The last value of each key, with its offset, as a consumer reads them.
fn table(client: &Client) -> BTreeMap<Vec<u8>, (i64, Option<Vec<u8>>)> {
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let messages = consumer.until_end().unwrap().map(Result::unwrap);
    let row = |message: streamlog::client::Message| {
        let value = message.value().map(<[u8]>::to_vec);
        (message.key().unwrap().to_vec(), (message.offset().get(), value))
    };
    messages.map(row).collect()
}

#[test]
fn a_damaged_compacted_log_is_fetched_again_as_a_whole_and_deleted_keys_stay_deleted() {
    let mut cluster = ThreeBrokers::start(&[
        "log.cleaner.backoff.ms=20",
        "log.retention.check.interval.ms=20",
        "log.segment.delete.delay.ms=0",
        "log.scrub.interval.ms=20",
        "auto.leader.rebalance.enable=false",
    ]);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    // Nothing is compacted yet.
    let settings = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "2000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("delete.retention.ms", "0"),
        ("min.compaction.lag.ms", "3600000"),
    ];
    set(&client, &settings);
    write(&client, [(DELETED, Some("a deleted value"))]);
    write_others(&client, 40);
    write(&client, [(DELETED, None)]);
    write_others(&client, 40);

    // The first replica keeps the value and the tombstone, and the others compact both away.
    let damaged = cluster.leader(TOPIC);
    cluster.stop(damaged);
    cluster.await_in_sync(TOPIC, &others(damaged));
    damage_last(&cluster, damaged, DELETED);
    let client = cluster.client();
    set(&client, &[("min.compaction.lag.ms", "0")]);
    let deadline = Instant::now() + PATIENCE;
    while others(damaged).iter().any(|id| contains(&cluster.log_bytes(*id, TOPIC, 0), DELETED)) {
        assert!(Instant::now() < deadline, "nothing is compacted\n{}", cluster.logs());
        write_others(&client, 20);
        thread::sleep(Duration::from_millis(20));
    }
    let expected = table(&client);
    assert_eq!(expected.len(), 10);

    cluster.start_broker(damaged);
    cluster.await_logged(damaged, "it is damaged, and fetched again as a whole");
    cluster.await_in_sync(TOPIC, &IDS);
    assert!(!contains(&cluster.log_bytes(damaged, TOPIC, 0), DELETED), "{}", cluster.logs());
    let quarantine = cluster.data(damaged).join("quarantine");
    let cells = fs::read_dir(quarantine).unwrap().map(|cell| cell.unwrap().path());
    let kept: Vec<PathBuf> = cells.map(|cell| cell.join(format!("{TOPIC}-0"))).collect();
    assert!(matches!(&kept[..], [kept] if kept.is_dir()), "{kept:?}");
    assert_eq!(table(&cluster.client()), expected);
    elect_preferred(&cluster, damaged);
    assert_eq!(table(&cluster.client()), expected, "{}", cluster.logs());
    assert_eq!(cluster.client().admin().damage().unwrap(), []);
}

#[test]
fn two_damaged_followers_are_fetched_again_and_the_minimum_stays_in_sync() {
    let mut cluster = ThreeBrokers::start(&[
        "log.scrub.interval.ms=20",
        "log.retention.check.interval.ms=20",
        "auto.leader.rebalance.enable=false",
    ]);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    let settings = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "2000"),
        ("min.insync.replicas", "2"),
        ("min.compaction.lag.ms", "3600000"),
    ];
    set(&client, &settings);
    write_others(&client, 80);
    let expected = table(&client);
    cluster.await_in_sync(TOPIC, &IDS);
    let followers = others(cluster.leader(TOPIC));
    for follower in &followers {
        cluster.flip_a_bit(*follower, TOPIC, 0);
    }
    for follower in &followers {
        cluster.await_logged(*follower, "it is damaged, and fetched again as a whole");
    }
    cluster.await_in_sync(TOPIC, &IDS);
    assert_eq!(cluster.client().admin().damage().unwrap(), []);
    assert_eq!(table(&cluster.client()), expected, "{}", cluster.logs());
    cluster.assert_identical_logs(TOPIC, 1);
}
