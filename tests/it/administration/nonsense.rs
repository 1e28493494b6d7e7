//! Requests that make no sense get the errors that Kafka has for them, and each thing one answer.

use streamlog::wire::create_partitions::{self, CreatePartitionsRequest};
use streamlog::wire::create_topics::{self, CreateTopicsRequest};
use streamlog::wire::delete_topics::{self, DeleteTopicsRequest};
use streamlog::wire::describe_groups::DescribeGroupsRequest;
use streamlog::wire::describe_topic_partitions::{
    self as pages, Cursor, DescribeTopicPartitionsRequest,
};
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::list_offsets::{self, ListOffsetsRequest};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};
use streamlog::wire::offset_for_leader_epoch::{self as epochs, OffsetForLeaderEpochRequest};
use streamlog::wire::sync_group::SyncGroupRequest;
use streamlog::wire::{
    DescribeClusterRequest, ErrorCode, InitProducerIdRequest, Marked, delete_records,
};

use crate::support::{LocalBroker, TOPIC, accepted, batch, once_loaded};

/// A broker whose groups are loaded.
fn with_groups() -> LocalBroker {
    let broker = LocalBroker::new(1, &[("offsets.topic.num.partitions", "1")]);
    let mut client = broker.connect();
    let find = FindCoordinatorRequest { key: "g".to_owned(), ..Default::default() };
    let describe = DescribeGroupsRequest { groups: vec!["g".to_owned()], ..Default::default() };
    client.call(3, &find).unwrap();
    let described =
        once_loaded(|| accepted(client.call(5, &describe).unwrap().groups[0].error_code));
    assert_eq!(described, Ok(()));
    broker
}

#[test]
fn what_is_named_twice_is_answered_once() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    let named = || RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![named(), named()]), ..Default::default() };
    assert_eq!(client.call(12, &request).unwrap().topics.len(), 1);

    let new = || create_topics::RequestTopic { name: "new".to_owned(), ..Default::default() };
    let request = CreateTopicsRequest { topics: vec![new(), new()], ..Default::default() };
    let topics = client.call(7, &request).unwrap().topics;
    assert_eq!((topics.len(), topics[0].error_code), (1, ErrorCode::InvalidRequest));
    assert_eq!(topics[0].configs, Some(Vec::new()), "no settings, which is not null");

    let more = || create_partitions::RequestTopic { name: TOPIC.to_owned(), ..Default::default() };
    let request = CreatePartitionsRequest { topics: vec![more(), more()], ..Default::default() };
    let results = client.call(3, &request).unwrap().results;
    assert_eq!((results.len(), results[0].error_code), (1, ErrorCode::InvalidRequest));

    let end = || list_offsets::RequestPartition { timestamp: -1, ..Default::default() };
    let topic =
        list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![end(), end()] };
    let request = ListOffsetsRequest { topics: vec![topic], ..Default::default() };
    let partitions = client.call(8, &request).unwrap().topics.remove(0).partitions;
    assert_eq!((partitions.len(), partitions[0].error_code), (1, ErrorCode::InvalidRequest));
}

#[test]
fn an_isolation_level_that_does_not_exist_is_called_invalid() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    for (level, code) in [
        (0, ErrorCode::None),
        (1, ErrorCode::None),
        (2, ErrorCode::InvalidRequest),
        (-1, ErrorCode::InvalidRequest),
    ] {
        let end = list_offsets::RequestPartition { timestamp: -1, ..Default::default() };
        let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![end] };
        let request = ListOffsetsRequest {
            isolation_level: level,
            topics: vec![topic],
            ..Default::default()
        };
        let answered = client.call(8, &request).unwrap();
        assert_eq!(answered.topics[0].partitions[0].error_code, code, "offsets at {level}");

        let all = fetch::RequestPartition { partition_max_bytes: 1 << 20, ..Default::default() };
        let topic = fetch::RequestTopic {
            topic: TOPIC.to_owned(),
            partitions: vec![all],
            ..Default::default()
        };
        let request =
            FetchRequest { isolation_level: level, topics: vec![topic], ..Default::default() };
        for version in [4, 12] {
            let answered = client.call(version, &request).unwrap();
            assert_eq!(answered.topics[0].partitions[0].error_code, code, "a fetch at {level}");
        }
    }
}

#[test]
fn what_says_too_little_is_called_invalid() {
    let broker = with_groups();
    let mut client = broker.connect();
    let nothing = delete_topics::RequestTopic::default();
    let request = DeleteTopicsRequest { topics: vec![nothing], ..Default::default() };
    let answer = client.call(6, &request).unwrap();
    assert_eq!(answer.responses[0].error_code, ErrorCode::InvalidRequest);

    for request in [
        InitProducerIdRequest { producer_id: 5, ..Default::default() },
        InitProducerIdRequest { producer_epoch: 0, ..Default::default() },
        InitProducerIdRequest { transactional_id: Some(String::new()), ..Default::default() },
    ] {
        assert_eq!(client.call(5, &request).unwrap().error_code, ErrorCode::InvalidRequest);
    }

    let request = SyncGroupRequest { group_id: "g".to_owned(), ..Default::default() };
    let code = client.call(5, &request).unwrap().error_code;
    assert_eq!(code, ErrorCode::InconsistentGroupProtocol);
    let code = client.call(4, &request).unwrap().error_code;
    assert_eq!(code, ErrorCode::UnknownMemberId, "version 4 cannot say more");

    let topic = pages::RequestTopic { name: TOPIC.to_owned() };
    let before = Cursor { topic_name: TOPIC.to_owned(), partition_index: -1 };
    let request = DescribeTopicPartitionsRequest {
        topics: vec![topic],
        cursor: Some(Marked(before)),
        ..Default::default()
    };
    let answer = client.call(0, &request).unwrap();
    assert_eq!(answer.topics[0].error_code, ErrorCode::InvalidRequest);
}

#[test]
fn rights_are_told_of_what_there_is() {
    let broker = with_groups();
    let mut client = broker.connect();
    let request = DescribeClusterRequest {
        include_cluster_authorized_operations: true,
        ..Default::default()
    };
    // All but Read, Write and Delete, which nobody does to a cluster.
    assert_eq!(client.call(1, &request).unwrap().cluster_authorized_operations, 8096);
    let request = DescribeGroupsRequest {
        groups: vec!["absent".to_owned()],
        include_authorized_operations: true,
    };
    let absent = client.call(6, &request).unwrap().groups.remove(0);
    assert_eq!(absent.error_code, ErrorCode::GroupIdNotFound);
    assert_eq!(absent.authorized_operations, i32::MIN);
}

#[test]
fn an_epoch_before_the_first_ends_where_the_log_begins_now() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    client.produce(batch([1, 2, 3]), -1).unwrap().unwrap();
    let partition = delete_records::RequestPartition { offset: 2, ..Default::default() };
    let topic =
        delete_records::RequestTopic { name: TOPIC.to_owned(), partitions: vec![partition] };
    let request = delete_records::DeleteRecordsRequest { topics: vec![topic], timeout_ms: 5_000 };
    client.call(2, &request).unwrap();
    let partition = epochs::RequestPartition { leader_epoch: -2, ..Default::default() };
    let topic = epochs::RequestTopic { topic: TOPIC.to_owned(), partitions: vec![partition] };
    let request = OffsetForLeaderEpochRequest { topics: vec![topic], ..Default::default() };
    let answer = client.call(4, &request).unwrap();
    assert_eq!(answer.topics[0].partitions[0].end_offset, 2);
}
