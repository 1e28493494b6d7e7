//! Fetches whose limit on bytes leaves no room for some of their partitions.

use std::sync::Arc;

use crate::support::{Connection, FETCH, LocalBroker, batch, values};
use streamlog::io::MemoryDisk;
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::wire::ErrorCode;
use streamlog::wire::fetch::{FetchRequest, RequestPartition, RequestTopic as WantedTopic};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

const TOPICS: [&str; 3] = ["one", "two", "three"];

const RECORDS: usize = 50;

/// A broker that was started again with a batch in partition 0 of each topic, so that no byte is
/// verified.
fn restarted() -> LocalBroker {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let broker = LocalBroker::on(disk, &[]).unwrap();
    let mut connection = broker.connect();
    let topic = |name: &str| RequestTopic { name: Some(name.to_owned()), ..Default::default() };
    let topics = Some(TOPICS.map(topic).to_vec());
    connection.call(9, &MetadataRequest { topics, ..Default::default() }).unwrap();
    for topic in TOPICS {
        connection.send_batch_to(topic, batch(0..50), -1).unwrap();
        assert_eq!(connection.receive_offset().unwrap(), Ok(0));
    }
    let broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
    // Their logs are open from here on.
    let behind = fetch(&mut broker.connect(), i64::try_from(RECORDS).unwrap(), i32::MAX);
    assert_eq!(behind, [(ErrorCode::None, 0); 3]);
    broker
}

/// Fetches the topics in turn, and returns the error and the number of records of each.
fn fetch(connection: &mut Connection, offset: i64, max_bytes: i32) -> Vec<(ErrorCode, usize)> {
    let topic = |name: &str| WantedTopic {
        topic: name.to_owned(),
        partitions: vec![RequestPartition {
            fetch_offset: offset,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        }],
        ..Default::default()
    };
    let topics = TOPICS.map(topic).to_vec();
    let request = FetchRequest { max_wait_ms: 0, max_bytes, topics, ..Default::default() };
    let response = connection.call(FETCH, &request).unwrap();
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|found| (found.error_code, values(&found.records).len())).collect()
}

fn break_reads(broker: &LocalBroker, topic: &str) {
    let fault = Fault::new(Operation::Read, Failure::InputOutput);
    let name = format!("{topic}-0/00000000000000000000.log");
    broker.disk.inject(fault.on(&name).for_ever());
}

#[test]
fn a_partition_without_room_is_not_read() {
    let broker = restarted();
    break_reads(&broker, "two");
    break_reads(&broker, "three");
    let mut connection = broker.connect();
    let first_only = [(ErrorCode::None, RECORDS), (ErrorCode::None, 0), (ErrorCode::None, 0)];
    assert_eq!(fetch(&mut connection, 0, 1), first_only, "not verified yet");
    assert_eq!(fetch(&mut connection, 0, 1), first_only, "verified");
    broker.disk.clear_faults();
    assert_eq!(fetch(&mut connection, 0, i32::MAX), [(ErrorCode::None, RECORDS); 3]);
    broker.stop().unwrap();
}

#[test]
fn partitions_that_cannot_be_read_take_no_room_from_others() {
    let broker = restarted();
    break_reads(&broker, "one");
    break_reads(&broker, "two");
    let failed = (ErrorCode::KafkaStorageError, 0);
    let found = fetch(&mut broker.connect(), 0, 1);
    assert_eq!(found, [failed, failed, (ErrorCode::None, RECORDS)]);
    broker.disk.clear_faults();
    broker.stop().unwrap();
}
