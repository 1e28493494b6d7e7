//! Requests that take long: only their own connection waits for them.

use std::time::Duration;

use streamlog::io::faulty::{FaultyDisk, Operation};
use streamlog::record::Compression;
use streamlog::wire::delete_records::{self, DeleteRecordsRequest};
use streamlog::wire::describe_producers::{self, DescribeProducersRequest};
use streamlog::wire::list_offsets::{self, EARLIEST, LATEST, ListOffsetsRequest};
use streamlog::wire::metadata::MetadataRequest;
use streamlog::wire::offset_for_leader_epoch::{self, OffsetForLeaderEpochRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{
    Connection, LocalBroker, PRODUCE, TOPIC, batch, packed_batch, sequenced, set_topic, values,
};

/// The size from which reads are slow.
const LARGE: usize = 64 * 1024;

/// The number of records of a larger batch.
const MANY: u64 = 10_000;

/// The timestamp of all records.
const TIME: i64 = 1_700_000_000_000;

const PATIENCE: Duration = Duration::from_secs(10);

/// Versions of requests, which set no limit to these tests.
const LIST_OFFSETS: i16 = 7;
const EPOCH: i16 = 4;
const DELETE_RECORDS: i16 = 2;
const METADATA: i16 = 9;

fn list_offsets(timestamp: i64) -> ListOffsetsRequest {
    let partition =
        list_offsets::RequestPartition { timestamp, current_leader_epoch: -1, partition_index: 0 };
    let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    ListOffsetsRequest { topics: vec![topic], ..Default::default() }
}

fn epoch_end(leader_epoch: i32) -> OffsetForLeaderEpochRequest {
    let partition =
        offset_for_leader_epoch::RequestPartition { leader_epoch, ..Default::default() };
    let topic = offset_for_leader_epoch::RequestTopic {
        topic: TOPIC.to_owned(),
        partitions: vec![partition],
    };
    OffsetForLeaderEpochRequest { topics: vec![topic], ..Default::default() }
}

fn producers() -> DescribeProducersRequest {
    let topic =
        describe_producers::RequestTopic { name: TOPIC.to_owned(), partition_indexes: vec![0] };
    DescribeProducersRequest { topics: vec![topic] }
}

fn delete_records(partitions: i32) -> DeleteRecordsRequest {
    let partition = |partition_index| delete_records::RequestPartition {
        partition_index,
        offset: -1,
        ..Default::default()
    };
    let topic = delete_records::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: (0..partitions).map(partition).collect(),
    };
    DeleteRecordsRequest { topics: vec![topic], timeout_ms: 10_000 }
}

/// Fails unless another connection of the same shard is answered.
fn assert_answered(neighbour: &mut Connection) {
    neighbour.set_patience(PATIENCE);
    for _ in 0..20 {
        let all = MetadataRequest { topics: None, ..Default::default() };
        let answer = neighbour.call(METADATA, &all).unwrap();
        assert_eq!(answer.topics.len(), 1);
    }
}

/// Starts a broker again after a clean stop. Its only log is open, but not loaded.
fn restarted(broker: LocalBroker) -> (LocalBroker, Connection) {
    let broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
    let mut client = broker.connect();
    let answer = client.call(LIST_OFFSETS, &list_offsets(EARLIEST)).unwrap();
    assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::None);
    (broker, client)
}

#[test]
fn a_search_by_time_does_not_delay_other_clients() {
    let broker = LocalBroker::new(1, &[]);
    let (mut client, mut neighbour) = (broker.connect(), broker.connect());
    assert_eq!(client.produce(batch(0..MANY), -1).unwrap(), Ok(0));
    let hold = broker.disk.hold_reads(LARGE);
    client.send(LIST_OFFSETS, &list_offsets(TIME)).unwrap();
    assert!(hold.wait_for(1, PATIENCE), "the search reads nothing");
    assert_answered(&mut neighbour);
    drop(hold);
    let answer = client.receive::<ListOffsetsRequest>(LIST_OFFSETS).unwrap();
    let found = &answer.topics[0].partitions[0];
    assert_eq!((found.error_code, found.offset), (ErrorCode::None, 0));
    broker.stop().unwrap();
}

#[test]
fn offsets_in_memory_are_listed_while_the_disk_is_slow() {
    let broker = LocalBroker::new(2, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(batch(0..MANY), -1).unwrap(), Ok(0));
    let hold = broker.disk.hold_reads(1);
    client.set_patience(PATIENCE);
    for (timestamp, offset) in [(EARLIEST, 0), (LATEST, i64::try_from(MANY).unwrap())] {
        let answer = client.call(LIST_OFFSETS, &list_offsets(timestamp)).unwrap();
        assert_eq!(answer.topics[0].partitions[0].offset, offset);
    }
    drop(hold);
    broker.stop().unwrap();
}

#[test]
fn a_log_that_is_loaded_does_not_delay_other_clients() {
    let broker = LocalBroker::new(3, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(sequenced([1, 2], (7, 0), 0), -1).unwrap(), Ok(0));
    let (broker, mut client) = restarted(broker);
    let (mut second, mut neighbour) = (broker.connect(), broker.connect());
    let hold = broker.disk.hold_reads(1);
    client.send(EPOCH, &epoch_end(1_000)).unwrap();
    assert!(hold.wait_for(1, PATIENCE), "the log is loaded already");
    second.send(0, &producers()).unwrap();
    assert_answered(&mut neighbour);
    drop(hold);
    let answer = client.receive::<OffsetForLeaderEpochRequest>(EPOCH).unwrap();
    let end = &answer.topics[0].partitions[0];
    assert_eq!((end.error_code, end.end_offset), (ErrorCode::None, -1), "no such epoch");
    let answer = second.receive::<DescribeProducersRequest>(0).unwrap();
    assert_eq!(answer.topics[0].partitions[0].active_producers.len(), 1);
    broker.stop().unwrap();
}

#[test]
fn the_producers_of_a_log_are_known_before_it_is_used_again() {
    let broker = LocalBroker::new(4, &[]);
    let mut client = broker.connect();
    assert_eq!(client.produce(sequenced([1, 2], (7, 0), 0), -1).unwrap(), Ok(0));
    let (broker, mut client) = restarted(broker);
    let answer = client.call(0, &producers()).unwrap();
    let known = &answer.topics[0].partitions[0].active_producers;
    assert_eq!(known.iter().map(|known| known.producer_id).collect::<Vec<_>>(), [7]);
    broker.stop().unwrap();
}

#[test]
fn a_batch_that_is_slow_to_recompress_does_not_delay_other_clients() {
    let broker = LocalBroker::new(5, &[]);
    let (mut client, mut neighbour) = (broker.connect(), broker.connect());
    assert_eq!(client.produce(batch(0..MANY), -1).unwrap(), Ok(0));
    assert_eq!(set_topic(&mut client, "compression.type", "gzip").0, ErrorCode::None);
    // Cold readers occupy the threads for slow work.
    let hold = broker.disk.hold_reads(LARGE);
    let mut cold: Vec<Connection> = (0..4).map(|_| broker.connect()).collect();
    for reader in &mut cold {
        reader.send_fetch(0, Duration::ZERO).unwrap();
    }
    assert!(hold.wait_for(4, PATIENCE), "nobody reads for them");
    client.send_batch(batch(0..10), -1).unwrap();
    assert_answered(&mut neighbour);
    // The neighbour's batch needs no recompression and is stored first, though it was sent later.
    let end = i64::try_from(MANY).unwrap();
    let packed = packed_batch(std::iter::repeat_n(1, 100), Compression::Gzip);
    assert_eq!(neighbour.produce(packed, -1).unwrap(), Ok(end));
    drop(hold);
    assert_eq!(client.receive_offset().unwrap(), Ok(end + 100));
    // Later batches of the same connection keep their order.
    for number in 0..5 {
        client.send_batch(batch([number]), -1).unwrap();
    }
    for number in 0..5 {
        assert_eq!(client.receive_offset().unwrap(), Ok(end + 110 + number));
    }
    let stored: Vec<_> = client.read_from(end + 100).unwrap();
    assert_eq!(stored.iter().map(|(_, value)| *value).collect::<Vec<_>>()[8..12], [8, 9, 0, 1]);
    for mut reader in cold {
        assert_eq!(values(&reader.receive_records().unwrap().records)[..2], [(0, 0), (1, 1)]);
    }
    broker.stop().unwrap();
}

#[test]
fn deleting_records_does_not_delay_other_clients() {
    let broker = LocalBroker::new(6, &[]);
    let (mut client, mut neighbour) = (broker.connect(), broker.connect());
    assert_eq!(client.produce(batch(0..10), -1).unwrap(), Ok(0));
    let hold = broker.disk.hold_sync();
    client.send(DELETE_RECORDS, &delete_records(1)).unwrap();
    assert!(hold.wait_for(1, PATIENCE), "the new start is not made durable");
    assert_answered(&mut neighbour);
    drop(hold);
    let answer = client.receive::<DeleteRecordsRequest>(DELETE_RECORDS).unwrap();
    let deleted = &answer.topics[0].partitions[0];
    assert_eq!((deleted.error_code, deleted.low_watermark), (ErrorCode::None, 10));
    broker.stop().unwrap();
}

/// The number of syncs of files and directories that deleting the records of `partitions` takes.
fn syncs_to_delete(partitions: i32) -> u64 {
    let count = partitions.to_string();
    let broker = LocalBroker::new(7, &[("num.partitions", &count)]);
    let mut client = broker.connect();
    let one =
        |index| produce::RequestPartition { index, records: Records::Bytes(batch([1]).into()) };
    let topic = produce::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: (0..partitions).map(one).collect(),
        ..Default::default()
    };
    let request =
        ProduceRequest { acks: -1, timeout_ms: 30_000, topics: vec![topic], ..Default::default() };
    let answer = client.call(PRODUCE, &request).unwrap();
    assert!(answer.topics[0].partitions.iter().all(|part| part.error_code == ErrorCode::None));
    let syncs = |disk: &FaultyDisk| {
        disk.calls(Operation::SyncData)
            + disk.calls(Operation::SyncDir)
            + disk.calls(Operation::SyncFilesystem)
    };
    let before = syncs(&broker.disk);
    let answer = client.call(DELETE_RECORDS, &delete_records(partitions)).unwrap();
    for deleted in &answer.topics[0].partitions {
        assert_eq!((deleted.error_code, deleted.low_watermark), (ErrorCode::None, 1));
    }
    let taken = syncs(&broker.disk) - before;
    broker.stop().unwrap();
    taken
}

#[test]
fn records_of_many_partitions_are_deleted_by_one_write() {
    let (one, many) = (syncs_to_delete(1), syncs_to_delete(12));
    assert!(one > 0, "nothing was made durable");
    assert!(many < 2 * one, "{many} syncs for 12 partitions, {one} for one");
}
