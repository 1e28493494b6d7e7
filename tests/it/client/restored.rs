//! A consumer of a log that has lost records, as of a disk that was restored from a copy.

use std::ops::Range;
use std::path::Path;

use streamlog::client::{
    Client, ClientConfig, ConsumerConfig, GroupConfig, ProducerConfig, ProducerRecord,
};
use streamlog::wire::ErrorCode;
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};

use crate::support::{LocalBroker, TOPIC, accepted, disk_of, files_in, once_loaded};

const SETTINGS: &[(&str, &str)] =
    &[("offsets.topic.num.partitions", "1"), ("group.initial.rebalance.delay.ms", "0")];

const GROUP: &str = "readers";

fn client_of(broker: &LocalBroker) -> Client {
    let bootstrap = vec![broker.address().to_string().parse().unwrap()];
    Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap()
}

fn publish(broker: &LocalBroker, numbers: Range<u64>) {
    let producer = client_of(broker).producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let value = number.to_be_bytes();
        let record =
            ProducerRecord { topic: TOPIC, value: Some(&value), ..ProducerRecord::default() };
        producer.send(&record).unwrap();
    }
    producer.close(None).unwrap();
}

/// The numbers that the next member of the group reads, which then commits.
fn consume(broker: &LocalBroker) -> Vec<u64> {
    let client = client_of(broker);
    let group = GroupConfig { id: Some(GROUP.to_owned()), ..GroupConfig::default() };
    let config = ConsumerConfig { group, ..ConsumerConfig::default() };
    let consumer = client.consumer(&[TOPIC], config).unwrap();
    let messages = consumer.until_end().unwrap().map(Result::unwrap);
    let numbers =
        messages.map(|message| u64::from_be_bytes(message.value().unwrap().try_into().unwrap()));
    let numbers = numbers.collect();
    consumer.commit().unwrap();
    consumer.close();
    numbers
}

/// The committed offset, with the leader epoch of the record before it.
fn committed(broker: &LocalBroker) -> (i64, i32) {
    let topic = offset_fetch::RequestTopic {
        name: TOPIC.to_owned(),
        partition_indexes: vec![0],
        ..Default::default()
    };
    let group = offset_fetch::RequestGroup {
        group_id: GROUP.to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let found = broker.connect().call(9, &request).unwrap();
    let row = &found.groups[0].topics[0].partitions[0];
    (row.committed_offset, row.committed_leader_epoch)
}

fn commit(broker: &LocalBroker, (committed_offset, committed_leader_epoch): (i64, i32)) {
    let row = offset_commit::RequestPartition {
        committed_offset,
        committed_leader_epoch,
        ..Default::default()
    };
    let topic = offset_commit::RequestTopic {
        name: TOPIC.to_owned(),
        partitions: vec![row],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        topics: vec![topic],
        ..Default::default()
    };
    let mut connection = broker.connect();
    let answered = once_loaded(|| {
        let answered = connection.call(9, &request).unwrap();
        accepted(answered.topics[0].partitions[0].error_code)
    });
    assert_eq!(answered, Ok::<(), ErrorCode>(()));
}

#[test]
fn a_group_whose_records_are_lost_goes_on_where_the_log_differs() {
    let broker = LocalBroker::new(1, SETTINGS);
    publish(&broker, 0..100);
    let disk = broker.stop().unwrap();
    let copy = files_in(&disk, Path::new("/data"));

    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    publish(&broker, 100..200);
    assert_eq!(consume(&broker).len(), 200);
    let (offset, epoch) = committed(&broker);
    assert_eq!(offset, 200);
    assert!(epoch >= 0, "an offset is committed with the epoch of the record before it");
    broker.stop().unwrap();

    // The copy does not know of the epoch in which the lost records were written: this start takes
    // its number.
    let restored = LocalBroker::on(disk_of(&copy), SETTINGS).unwrap().stop().unwrap();
    let broker = LocalBroker::on(restored, SETTINGS).unwrap();
    publish(&broker, 500..650);
    consume(&broker);
    commit(&broker, (offset, epoch));
    assert_eq!(consume(&broker), (500..650).collect::<Vec<_>>());
}
