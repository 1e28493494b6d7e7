//! The log that groups live in, damaged at rest: what stood in the damaged batch is lost, and
//! nothing else; its groups go on.

use std::path::Path;

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, OpenMode};
use streamlog::wire::ErrorCode;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};

use crate::support::{Connection, LocalBroker, TOPIC, accepted, once_loaded};

/// One log, and every commit is a batch of its own in it.
const SETTINGS: &[(&str, &str)] = &[("offsets.topic.num.partitions", "1")];
const GROUPS: [&str; 4] = ["a", "b", "c", "d"];
const LOG: &str = "/data/__consumer_offsets-0/00000000000000000000.log";

/// Bytes of a batch's header, all of which are damaged one by one.
const HEADER: u64 = 61;

/// Bytes of the base offset, with which it begins.
const BASE_OFFSET: u64 = 8;

/// Bytes of a batch before its records: the commits are so small that all have the same size.
const RECORDS_AT: u64 = 61;

fn commit(client: &mut Connection, group: &str, committed_offset: i64) {
    let partition = offset_commit::RequestPartition { committed_offset, ..Default::default() };
    let topic = offset_commit::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = OffsetCommitRequest {
        group_id: group.to_owned(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let answered = once_loaded(|| {
        let answered = client.call(9, &request).unwrap();
        accepted(answered.topics[0].partitions[0].error_code)
    });
    assert_eq!(answered, Ok(()), "of group {group}");
}

/// The stored offset, −1 if there is none.
fn stored(client: &mut Connection, group: &str) -> i64 {
    let topic = offset_fetch::RequestTopic { name: TOPIC.to_owned(), partition_indexes: vec![0] };
    let group = offset_fetch::RequestGroup {
        group_id: group.to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let answered = once_loaded(|| {
        let mut answered = client.call(9, &request).unwrap().groups.remove(0);
        accepted(answered.error_code).map(|()| answered.topics.remove(0))
    });
    answered.unwrap().partitions[0].committed_offset
}

/// The disk of a broker that was stopped in order after each group had stored an offset, and the
/// size of one commit in the log.
fn committed() -> (FaultyDisk, u64) {
    let broker = LocalBroker::new(1, SETTINGS);
    let mut client = broker.connect();
    let find = FindCoordinatorRequest { key: "a".to_owned(), ..Default::default() };
    assert_eq!(client.call(3, &find).unwrap().error_code, ErrorCode::None);
    for (group, offset) in GROUPS.into_iter().zip(10..) {
        commit(&mut client, group, offset);
    }
    let disk = broker.stop().unwrap();
    let bytes = disk.open(Path::new(LOG), OpenMode::Read).unwrap().len().unwrap();
    assert_eq!(bytes % GROUPS.len() as u64, 0, "commits of different sizes");
    (disk, bytes / GROUPS.len() as u64)
}

/// After the damage every group but `lost` has what it stored, and all go on, also after a restart.
fn only_one_is_lost(disk: FaultyDisk, lost: &str, what: &str) {
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    for (group, offset) in GROUPS.into_iter().zip(10..) {
        let stored = stored(&mut client, group);
        let is_allowed = stored == offset || (group == lost && stored == -1);
        assert!(is_allowed, "{what}: group {group} has {stored}");
    }
    for group in GROUPS {
        commit(&mut client, group, 99);
    }
    let broker = LocalBroker::on(broker.stop().unwrap(), SETTINGS).unwrap();
    let mut client = broker.connect();
    for group in GROUPS {
        assert_eq!(stored(&mut client, group), 99, "{what}: group {group}");
    }
    broker.stop().unwrap();
}

#[test]
fn a_damaged_batch_costs_its_own_commit_wherever_the_damage_is() {
    let (_, size) = committed();
    assert!(size > RECORDS_AT);
    for (batch, lost) in GROUPS.into_iter().enumerate() {
        let start = batch as u64 * size;
        // The offsets of the last batch, which no checksum covers, are vouched for by no successor.
        let first = if batch + 1 < GROUPS.len() { 0 } else { BASE_OFFSET };
        for at in (first..HEADER).chain([RECORDS_AT, size - 1]) {
            let bit = (at % 8) as u8;
            let (disk, _) = committed();
            disk.flip_bit(Path::new(LOG), start + at, bit).unwrap();
            only_one_is_lost(disk, lost, &format!("bit {bit} of byte {at} of batch {batch}"));
        }
    }
}
