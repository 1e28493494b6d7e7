//! The memory of partitions that were never written.

use std::process::Command;

use streamlog::wire::ErrorCode;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestTopic};

use crate::support::BrokerProcess;

const TOPICS: u64 = 5;
const PARTITIONS_EACH: u64 = 10_000;
/// The memory that each may take, with its share of everything kept for it.
const BYTES_EACH: u64 = 1024;
/// The number of brokers that are measured at most. Freed memory between blocks in use counts too,
/// and on a busy machine more is freed at once, so the smallest measure is nearest to the truth.
const TRIES: usize = 3;

#[test]
fn a_partition_that_was_never_written_takes_less_than_a_kibibyte() {
    let mut measured = Vec::new();
    while measured.len() < TRIES {
        let each = memory_of_each();
        if each <= BYTES_EACH {
            return;
        }
        measured.push(each);
    }
    panic!("{measured:?} bytes for each partition of these brokers");
}

/// The memory that a new broker takes for each of its partitions.
fn memory_of_each() -> u64 {
    let dir = tempfile::tempdir().unwrap();
    // The freed memory that glibc keeps in an arena per thread differs from run to run by a tenth.
    let with_one_arena = |command: &mut Command| {
        command.env("MALLOC_ARENA_MAX", "1");
    };
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], with_one_arena).unwrap();
    let mut client = broker.connect();
    let mut create = |name: String, partitions: u64| {
        let topic = RequestTopic {
            name,
            num_partitions: i32::try_from(partitions).unwrap(),
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
        let answered = client.call(7, &request).unwrap().topics.remove(0);
        assert_eq!(answered.error_code, ErrorCode::None, "{:?}", answered.error_message);
    };
    // The first topic pays for what all share.
    create("first".to_owned(), 1);
    let before = broker.anonymous_memory();
    for number in 0..TOPICS {
        create(format!("topic-{number}"), PARTITIONS_EACH);
    }
    (broker.anonymous_memory() - before) / (TOPICS * PARTITIONS_EACH)
}
