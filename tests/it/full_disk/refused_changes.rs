//! A disk that is full from the nth call on: each change that a client requests is made, or is
//! refused and has changed nothing that a reader can see, neither at once nor after a start.

use std::path::Path;
use std::sync::Arc;

use streamlog::io::MemoryDisk;
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::wire::ErrorCode;
use streamlog::wire::create_partitions::{self, CreatePartitionsRequest};
use streamlog::wire::delete_records::{self, DeleteRecordsRequest};
use streamlog::wire::delete_topics::{self, DeleteTopicsRequest};
use streamlog::wire::list_offsets::{self, ListOffsetsRequest};
use streamlog::wire::metadata::MetadataRequest;
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};

use crate::support::{
    Connection, Files, LocalBroker, TOPIC, batch, commit, create_topic, disk_of, files_in,
    find_coordinator, set_topic, stored, topic_setting,
};

const GROUP: &str = "readers";
const DOOMED: &str = "doomed";
const SETTINGS: &[(&str, &str)] =
    &[("log.segment.bytes", "1024"), ("offsets.topic.num.partitions", "1")];

/// A request that changes something; returns the code of its response.
type Change = fn(&mut Connection) -> ErrorCode;

const CHANGES: [(&str, Change); 6] = [
    ("CreateTopics", new_topic),
    ("CreatePartitions", create_partitions),
    ("DeleteTopics", delete_topic),
    ("IncrementalAlterConfigs", alter_configs),
    ("OffsetCommit", commit_offset),
    ("DeleteRecords", delete_records),
];

/// The calls that may fail for want of space.
const OPERATIONS: [Operation; 4] =
    [Operation::Write, Operation::Open, Operation::Rename, Operation::CreateDir];

/// More calls than any change makes.
const CALLS_MAX: u64 = 60;

fn new_topic(client: &mut Connection) -> ErrorCode {
    create_topic(client, "new", 1).0
}

fn create_partitions(client: &mut Connection) -> ErrorCode {
    let topic =
        create_partitions::RequestTopic { name: TOPIC.to_owned(), count: 3, ..Default::default() };
    let request =
        CreatePartitionsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    client.call(2, &request).unwrap().results[0].error_code
}

fn delete_topic(client: &mut Connection) -> ErrorCode {
    let topic = delete_topics::RequestTopic { name: Some(DOOMED.to_owned()), ..Default::default() };
    let request =
        DeleteTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
    client.call(6, &request).unwrap().responses[0].error_code
}

fn alter_configs(client: &mut Connection) -> ErrorCode {
    set_topic(client, "retention.ms", "123456789").0
}

fn commit_offset(client: &mut Connection) -> ErrorCode {
    let partition = offset_commit::RequestPartition { committed_offset: 99, ..Default::default() };
    let topic = offset_commit::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    client.call(9, &request).unwrap().topics[0].partitions[0].error_code
}

fn delete_records(client: &mut Connection) -> ErrorCode {
    let partition = delete_records::RequestPartition { offset: 100, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 10_000 };
    client.call(2, &request).unwrap().topics[0].partitions[0].error_code
}

/// The state that the changes affect, as clients read it.
#[derive(Debug, PartialEq, Eq)]
struct View {
    /// Names and numbers of partitions.
    topics: Vec<(String, usize)>,
    setting: (String, i8),
    committed: i64,
    log_start: i64,
    records: Vec<(i64, u64)>,
}

fn view(broker: &LocalBroker) -> View {
    let mut client = broker.connect();
    find_coordinator(&mut client, GROUP);
    let request = MetadataRequest { topics: None, ..Default::default() };
    let topics = client.call(9, &request).unwrap().topics.into_iter();
    let mut topics: Vec<_> =
        topics.map(|topic| (topic.name.unwrap(), topic.partitions.len())).collect();
    topics.sort();
    let log_start = log_start(&mut client);
    View {
        topics,
        setting: topic_setting(&mut client, TOPIC, "retention.ms"),
        committed: stored(&mut client, GROUP).unwrap(),
        log_start,
        records: client.read_from(log_start).unwrap(),
    }
}

fn log_start(client: &mut Connection) -> i64 {
    let partition = list_offsets::RequestPartition { timestamp: -2, ..Default::default() };
    let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
    client.call(5, &request).unwrap().topics[0].partitions[0].offset
}

/// The files of a broker that was shut down cleanly, with something for each change.
fn files() -> Files {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let broker = LocalBroker::with_topic(disk, SETTINGS);
    let mut client = broker.connect();
    for number in 0..5 {
        client.produce(batch(number * 40..(number + 1) * 40), -1).unwrap().unwrap();
    }
    assert_eq!(create_topic(&mut client, DOOMED, 2).0, ErrorCode::None);
    client.send_batch_to(DOOMED, batch([1]), -1).unwrap();
    assert_eq!(client.receive_offset().unwrap(), Ok(0));
    find_coordinator(&mut client, GROUP);
    commit(&mut client, GROUP, 7);
    let disk = broker.stop().unwrap();
    files_in(&disk, Path::new("/data"))
}

/// Requests the change while the disk is full from this call on. Returns true if it was made.
fn is_made(files: &Files, change: Change, fault: Fault, what: &str) -> bool {
    let broker = LocalBroker::on(disk_of(files), SETTINGS).unwrap();
    let before = view(&broker);
    let mut client = broker.connect();
    broker.disk.inject(fault);
    let code = change(&mut client);
    let during = view(&broker);
    broker.disk.clear_faults();
    if code == ErrorCode::None {
        assert_ne!(during, before, "{what}: it was said to be made");
        return true;
    }
    assert_eq!(during, before, "{what}: {code:?}");
    let disk = broker.cut_power(1);
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    assert_eq!(view(&broker), before, "{what}: {code:?}, after a start");
    broker.stop().unwrap();
    false
}

#[test]
fn a_change_that_is_refused_for_want_of_space_has_changed_nothing() {
    let files = files();
    let mut refusals = 0;
    for (name, change) in CHANGES {
        for operation in OPERATIONS {
            let made = (1..=CALLS_MAX).find(|call| {
                let fault = Fault::new(operation, Failure::NoSpace).at_call(*call).for_ever();
                is_made(&files, change, fault, &format!("{name}, {operation:?} {call}"))
            });
            refusals += made.unwrap_or_else(|| panic!("{name} is never made")) - 1;
        }
    }
    assert!(refusals >= 6, "only {refusals} refusals: the faults strike nothing");
}
