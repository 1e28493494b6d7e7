//! The memory of partitions that were never written.

use streamlog::wire::ErrorCode;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestTopic};

use crate::support::BrokerProcess;

const TOPICS: u64 = 5;
const PARTITIONS_EACH: u64 = 10_000;
/// The memory that each may take, with its share of everything kept for it.
const BYTES_EACH: u64 = 1024;

#[test]
fn a_partition_that_was_never_written_takes_less_than_a_kibibyte() {
    let dir = tempfile::tempdir().unwrap();
    let broker = BrokerProcess::start(&dir.path().join("data"), &[], |_| ()).unwrap();
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
    let each = (broker.anonymous_memory() - before) / (TOPICS * PARTITIONS_EACH);
    assert!(each <= BYTES_EACH, "{each} bytes for each partition");
}
