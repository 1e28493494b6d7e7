//! Topic names that lead out of the data directory, or nowhere.

use streamlog::wire::metadata::{MetadataRequest, RequestTopic};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{LocalBroker, TOPIC, Witness, batch};

/// Names that no topic may have.
fn illegal() -> Vec<String> {
    let short = ["", ".", "..", "/", "a/b", "../../etc", "a\0b", "\0", "a b", "ä", "\u{202e}"];
    let long = [250, 251, 30_000].map(|length| "a".repeat(length));
    short.map(str::to_owned).into_iter().chain(long).collect()
}

#[test]
fn asking_for_an_illegal_name_makes_nothing() {
    let broker = LocalBroker::new(1, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = broker.connect();
    for name in illegal() {
        for version in [4, 9, 12] {
            let topic = RequestTopic { name: Some(name.clone()), ..Default::default() };
            let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
            let answered = connection.call(version, &request).unwrap().topics.remove(0);
            assert_eq!(answered.error_code, ErrorCode::InvalidTopicException, "{name:?}");
            assert_eq!(answered.partitions, [], "{name:?}");
        }
        witness.sees_no_harm();
    }
    only_the_test_topic_exists(&broker);
}

#[test]
fn producing_to_an_illegal_name_writes_nothing() {
    let broker = LocalBroker::new(2, &[]);
    let mut witness = Witness::of(&broker);
    let mut connection = broker.connect();
    for name in illegal() {
        let records = Records::Bytes(batch([1]).into());
        let partitions = vec![produce::RequestPartition { index: 0, records }];
        let topics =
            vec![produce::RequestTopic { name: name.clone(), partitions, ..Default::default() }];
        let request = ProduceRequest { acks: 1, timeout_ms: 1_000, topics, ..Default::default() };
        let answered = connection.call(9, &request).unwrap().topics.remove(0);
        let code = answered.partitions[0].error_code;
        assert_eq!(code, ErrorCode::UnknownTopicOrPartition, "{name:?}");
        witness.sees_no_harm();
    }
    only_the_test_topic_exists(&broker);
}

#[test]
fn the_longest_legal_name_is_served() {
    let broker = LocalBroker::new(3, &[]);
    let name = "a".repeat(249);
    let topic = RequestTopic { name: Some(name.clone()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let made = broker.connect().call(9, &request).unwrap().topics.remove(0);
    assert_eq!((made.error_code, made.name), (ErrorCode::None, Some(name)));
}

fn only_the_test_topic_exists(broker: &LocalBroker) {
    let all = MetadataRequest { topics: None, ..Default::default() };
    let topics = broker.connect().call(9, &all).unwrap().topics;
    let names: Vec<_> = topics.iter().filter_map(|topic| topic.name.as_deref()).collect();
    assert_eq!(names, [TOPIC]);
}
