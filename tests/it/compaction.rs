//! Compacted topics on whole brokers: old values are removed, the last ones stay.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, MemoryDisk, OpenMode};
use streamlog::record::{
    BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, Limits,
    RecordError,
};
use streamlog::types::Timestamp;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestConfig, RequestTopic};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::list_offsets::{self, ListOffsetsRequest};
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{Connection, LocalBroker, TOPIC};

/// Compacts often, and writes small segments.
const SETTINGS: &[(&str, &str)] = &[
    ("log.cleaner.backoff.ms", "20"),
    ("log.retention.check.interval.ms", "20"),
    ("log.segment.bytes", "2000"),
    ("log.segment.delete.delay.ms", "0"),
    ("offsets.topic.num.partitions", "1"),
    ("offsets.topic.segment.bytes", "16384"),
];

const PATIENCE: Duration = Duration::from_secs(30);

fn create(client: &mut Connection, name: &str, configs: &[(&str, &str)]) -> ErrorCode {
    let config = |(key, value): &(&str, &str)| RequestConfig {
        name: (*key).to_owned(),
        value: Some((*value).to_owned()),
    };
    let topic = RequestTopic {
        name: name.to_owned(),
        num_partitions: 1,
        replication_factor: 1,
        configs: configs.iter().map(config).collect(),
        ..Default::default()
    };
    let request =
        CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    client.call(5, &request).unwrap().topics[0].error_code
}

/// A batch of one record.
fn record(key: Option<&str>, value: Option<&str>, codec: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    let now = Timestamp::from_millis(1_700_000_000_000);
    builder.push(now, key.map(str::as_bytes), value.map(str::as_bytes), &[]).unwrap();
    let mut compressor = Compressor::new(codec, None).unwrap();
    builder.build(&BatchSettings::default(), &mut compressor).unwrap()
}

/// All records of the test's topic: offset, key, value.
fn read_all(client: &mut Connection) -> Vec<(i64, String, Option<String>)> {
    let (mut found, mut from) = (Vec::new(), first_offset(client));
    loop {
        client.send_fetch(from, Duration::ZERO).unwrap();
        let partition = client.receive_records().unwrap();
        assert_eq!(partition.error_code, ErrorCode::None, "at offset {from}");
        let Records::Bytes(bytes) = &partition.records else { return found };
        let before = from;
        for batch in Batches::new(bytes) {
            let batch = batch.unwrap();
            batch.check_checksum().unwrap();
            let limits = Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            let records: Result<Vec<_>, RecordError> = batch.records(&payload, &limits).collect();
            for record in records.unwrap() {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let key = record.key.map(text).unwrap_or_default();
                found.push((batch.offset_of(&record).get(), key, record.value.map(text)));
            }
            from = batch.next_offset().get();
        }
        if from == before {
            return found;
        }
    }
}

/// The log start offset of the test's topic.
fn first_offset(client: &mut Connection) -> i64 {
    let partition = list_offsets::RequestPartition { timestamp: -2, ..Default::default() };
    let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
    let answer = client.call(5, &request).unwrap();
    answer.topics[0].partitions[0].offset
}

/// Polls until a condition holds.
fn eventually(mut holds: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} never came to be");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes this many rounds over ten keys, and deletes the last key.
fn write_rounds(client: &mut Connection, rounds: usize) {
    for round in 0..rounds {
        for name in 0..10 {
            let codec = Compression::ALL[(round + name) % 5];
            let value = format!("value {round} {}", "x".repeat(60));
            let value = (name != 9).then_some(value.as_str());
            let batch = record(Some(&format!("key {name}")), value, codec);
            client.produce(batch, 1).unwrap().unwrap();
        }
    }
}

/// Checks that a reader finds the last value of every key.
fn check_last(records: &[(i64, String, Option<String>)], round: usize) {
    for name in 0..9 {
        let key = format!("key {name}");
        let last = records.iter().rev().find(|(_, found, _)| *found == key).unwrap();
        assert!(last.2.as_deref().unwrap().starts_with(&format!("value {round} ")), "{last:?}");
    }
    assert!(records.is_sorted_by(|one, next| one.0 < next.0));
}

#[test]
fn compaction_removes_old_values_and_keeps_the_last_ones() {
    let broker = LocalBroker::on(memory(1), SETTINGS).unwrap();
    let mut client = broker.connect();
    let configs = [("cleanup.policy", "compact"), ("min.cleanable.dirty.ratio", "0.1")];
    assert_eq!(create(&mut client, TOPIC, &configs), ErrorCode::None);
    write_rounds(&mut client, 40);
    eventually(|| read_all(&mut client).len() < 100, "a short log");
    let records = read_all(&mut client);
    check_last(&records, 39);
    assert_eq!(records.last().unwrap().0, 399, "offsets never change");
    assert_eq!(first_offset(&mut client), 0, "nothing was deleted, only compacted");

    let disk = broker.cut_power(3);
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    check_last(&read_all(&mut client), 39);
    write_rounds(&mut client, 20);
    eventually(|| read_all(&mut client).len() < 100, "a short log after a restart");
    let disk = broker.stop().unwrap();
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let records = read_all(&mut broker.connect());
    check_last(&records, 19);
    assert_eq!(records.last().unwrap().0, 599);
    broker.stop().unwrap();
}

#[test]
fn a_compacted_topic_refuses_a_record_without_a_key() {
    let broker = LocalBroker::on(memory(2), SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(create(&mut client, TOPIC, &[("cleanup.policy", "compact")]), ErrorCode::None);
    for codec in Compression::ALL {
        let refused = client.produce(record(None, Some("x"), codec), 1).unwrap();
        assert_eq!(refused, Err(ErrorCode::InvalidRecord), "{codec}");
        assert!(client.produce(record(Some("k"), Some("x"), codec), 1).unwrap().is_ok());
    }
    let bytes = [("cleanup.policy", "compact"), ("offset.unit", "byte")];
    assert_eq!(create(&mut client, "bytes", &bytes), ErrorCode::InvalidConfig);
    broker.stop().unwrap();
}

/// No client uses the topic after the start, so only maintenance opens its log.
#[test]
fn a_topic_that_no_client_has_used_since_the_start_keeps_its_records() {
    let settings = [SETTINGS, &[("log.retention.ms", "1")]].concat();
    for was_clean in [true, false] {
        let broker = LocalBroker::on(memory(3), &settings).unwrap();
        let mut client = broker.connect();
        assert_eq!(create(&mut client, TOPIC, &[("retention.ms", "-1")]), ErrorCode::None);
        write_rounds(&mut client, 10);
        let disk = if was_clean { broker.stop().unwrap() } else { broker.cut_power(1) };
        let broker = LocalBroker::on(disk, &settings).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(first_offset(&mut broker.connect()), 0, "stopped in order: {was_clean}");
        broker.stop().unwrap();
    }
}

fn commit(client: &mut Connection, offset: i64) {
    let partition = offset_commit::RequestPartition {
        partition_index: 0,
        committed_offset: offset,
        ..Default::default()
    };
    let topic = offset_commit::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: "group".to_owned(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let answer = client.call(7, &request).unwrap();
    assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::None);
}

/// The committed offset, once the group is loaded.
fn committed(client: &mut Connection) -> i64 {
    let topic = offset_fetch::RequestTopic {
        name: TOPIC.to_owned(),
        partition_indexes: vec![0],
        ..Default::default()
    };
    let request = OffsetFetchRequest {
        group_id: "group".to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = client.call(7, &request).unwrap();
        if answer.error_code == ErrorCode::None {
            return answer.topics[0].partitions[0].committed_offset;
        }
        assert!(Instant::now() < deadline, "{:?}", answer.error_code);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Bytes of the internal topic's segments.
fn size_of_offsets_topic(disk: &FaultyDisk) -> u64 {
    let dir = Path::new("/data/__consumer_offsets-0");
    let entries = disk.list(dir).unwrap();
    let is_log = |name: &str| Path::new(name).extension().is_some_and(|end| end == "log");
    let logs = entries.iter().filter(|entry| is_log(&entry.name));
    let size = |name: &str| disk.open(&dir.join(name), OpenMode::Read)?.len();
    // A segment may be replaced between listing and opening it.
    logs.map(|entry| size(&entry.name).unwrap_or(0)).sum()
}

#[test]
fn the_offsets_topic_stops_growing_and_offsets_survive() {
    let broker = LocalBroker::on(memory(4), SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(create(&mut client, TOPIC, &[]), ErrorCode::None);
    let find = FindCoordinatorRequest { key: "group".to_owned(), ..Default::default() };
    assert_eq!(client.call(2, &find).unwrap().error_code, ErrorCode::None);
    committed(&mut client);
    for offset in 0..2_000 {
        commit(&mut client, offset);
    }
    let disk = broker.disk.clone();
    eventually(|| size_of_offsets_topic(&disk) < 40_000, "a small internal topic");
    assert_eq!(committed(&mut client), 1_999);
    let disk = broker.cut_power(4);
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    assert_eq!(committed(&mut broker.connect()), 1_999);
    broker.stop().unwrap();
}

fn memory(seed: u64) -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), seed)
}
