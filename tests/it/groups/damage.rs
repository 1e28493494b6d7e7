//! The log that groups live in, damaged at rest: a group whose offset may have stood in it gets an
//! error, never an older offset, until a person skips the damage or the group commits again. What
//! stood in the damaged batch is lost, and nothing else.

use std::path::Path;

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Disk, OpenMode};
use streamlog::wire::ErrorCode;
use streamlog::wire::delete_records::{self, DeleteRecordsRequest, OffsetRange};
use streamlog::wire::describe_log_dirs::DescribeLogDirsRequest;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;

use crate::support::{Connection, LocalBroker, commit, stored};

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

/// Skips all damage that the broker knows of in the log of the groups; tells whether there was any.
fn skip_all(client: &mut Connection) -> bool {
    let request = DescribeLogDirsRequest { with_damage: true, ..Default::default() };
    let topics = client.call(4, &request).unwrap().results.remove(0).topics;
    let topic = topics.into_iter().find(|topic| topic.name == "__consumer_offsets").unwrap();
    let damaged = topic.partitions.into_iter().flat_map(|partition| partition.damaged);
    let mut is_any = false;
    for stretch in damaged {
        let (first_offset, next_offset) = (stretch.first_offset, stretch.next_offset);
        let skip_damage = OffsetRange { first_offset, next_offset };
        let partition = delete_records::RequestPartition { skip_damage, ..Default::default() };
        let topic =
            delete_records::RequestTopic { name: topic.name.clone(), partitions: vec![partition] };
        let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5_000 };
        let answered = client.call(2, &request).unwrap().topics.remove(0).partitions.remove(0);
        assert_eq!(answered.error_code, ErrorCode::None, "{:?}", answered.error_message);
        is_any = true;
    }
    is_any
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

/// Every group gets what it stored or an error, and those that stored it behind the damage get
/// that. Once the damage is skipped all groups but `lost` have what they stored, and all go on,
/// also after a restart.
fn only_one_is_lost(disk: FaultyDisk, lost: usize, what: &str) {
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    let mut is_refused = false;
    for ((number, group), committed) in GROUPS.into_iter().enumerate().zip(10..) {
        match stored(&mut client, group) {
            Ok(offset) => assert_eq!(offset, committed, "{what}: group {group}"),
            Err(error) => {
                assert!(number <= lost, "{what}: group {group} is behind the damage");
                assert_eq!(error, ErrorCode::CorruptMessage, "{what}: group {group}");
                is_refused = true;
            }
        }
    }
    let is_skipped = skip_all(&mut client);
    assert!(is_skipped || !is_refused, "{what}: there is nothing to skip");
    for ((number, group), committed) in GROUPS.into_iter().enumerate().zip(10..) {
        let found = stored(&mut client, group).unwrap();
        let is_allowed = found == committed || (number == lost && found == -1);
        assert!(is_allowed, "{what}: group {group} has {found}");
    }
    for group in GROUPS {
        commit(&mut client, group, 99);
    }
    let broker = LocalBroker::on(broker.stop().unwrap(), SETTINGS).unwrap();
    let mut client = broker.connect();
    for group in GROUPS {
        assert_eq!(stored(&mut client, group), Ok(99), "{what}: group {group}");
    }
    broker.stop().unwrap();
}

#[test]
fn a_damaged_batch_costs_its_own_commit_wherever_the_damage_is() {
    let (_, size) = committed();
    assert!(size > RECORDS_AT);
    for batch in 0..GROUPS.len() {
        let start = batch as u64 * size;
        // The offsets of the last batch, which no checksum covers, are vouched for by no successor.
        let first = if batch + 1 < GROUPS.len() { 0 } else { BASE_OFFSET };
        for at in (first..HEADER).chain([RECORDS_AT, size - 1]) {
            let bit = (at % 8) as u8;
            let (disk, _) = committed();
            disk.flip_bit(Path::new(LOG), start + at, bit).unwrap();
            only_one_is_lost(disk, batch, &format!("bit {bit} of byte {at} of batch {batch}"));
        }
    }
}

#[test]
fn a_group_whose_offset_may_be_lost_gets_an_error_until_it_commits_again() {
    let (disk, size) = committed();
    disk.flip_bit(Path::new(LOG), size + RECORDS_AT, 1).unwrap();
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    let found = GROUPS.map(|group| stored(&mut client, group));
    let damaged = Err(ErrorCode::CorruptMessage);
    assert_eq!(found, [damaged, damaged, Ok(12), Ok(13)], "a may have stored another in b's place");
    assert_eq!(stored(&mut client, "unknown"), damaged, "or a group that nobody knows of now");
    commit(&mut client, "b", 77);
    assert_eq!(stored(&mut client, "b"), Ok(77));
    let broker = LocalBroker::on(broker.stop().unwrap(), SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(stored(&mut client, "a"), damaged, "a restart makes it no better");
    assert_eq!(stored(&mut client, "b"), Ok(77));
    assert!(skip_all(&mut client));
    assert_eq!([stored(&mut client, "a"), stored(&mut client, "unknown")], [Ok(10), Ok(-1)]);
    broker.stop().unwrap();
}
