//! The newest versions of Kafka's APIs: topics by their ids, and clients at the wrong broker.

use streamlog::types::TopicId;
use streamlog::wire::api_versions::ApiVersionsRequest;
use streamlog::wire::delete_topics::DeleteTopicsRequest;
use streamlog::wire::describe_cluster::DescribeClusterRequest;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::list_offsets::{
    self, EARLIEST_PENDING_UPLOAD, LATEST_TIERED, ListOffsetsRequest,
};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};
use streamlog::wire::produce::{self, ProduceRequest};
use streamlog::wire::{ErrorCode, Records};

use crate::support::{Connection, LocalBroker, TOPIC, batch, once_loaded};

const STRANGER: TopicId = TopicId([7; 16]);
const GROUP: &str = "g";

fn id_of_topic(client: &mut Connection) -> TopicId {
    let topic = RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let answer = client.call(13, &request).unwrap();
    assert_eq!((answer.error_code, answer.topics.len()), (ErrorCode::None, 1));
    answer.topics[0].topic_id
}

/// Produces a number to the partitions of two topics, by id, and returns what is answered for each.
fn produce_to(client: &mut Connection, ids: [TopicId; 2]) -> Vec<(TopicId, ErrorCode, i64)> {
    let partition = |number| produce::RequestPartition {
        index: 0,
        records: Records::Bytes(batch([number]).into()),
    };
    let topic = |(topic_id, number)| produce::RequestTopic {
        topic_id,
        partitions: vec![partition(number)],
        ..Default::default()
    };
    let topics = ids.into_iter().zip(0..).map(topic).collect();
    let request = ProduceRequest { acks: -1, timeout_ms: 5000, topics, ..Default::default() };
    let answer = client.call(13, &request).unwrap();
    let row = |topic: &produce::Topic| {
        assert!(topic.name.is_empty(), "names are not sent any more");
        (topic.topic_id, topic.partitions[0].error_code, topic.partitions[0].base_offset)
    };
    answer.topics.iter().map(row).collect()
}

#[test]
fn records_are_produced_to_topics_by_their_ids() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    let id = id_of_topic(&mut client);
    let unknown = ErrorCode::UnknownTopicId;
    for strange in [STRANGER, TopicId::NONE] {
        let answered = produce_to(&mut client, [id, strange]);
        assert_eq!(answered[0].1, ErrorCode::None);
        assert_eq!(answered[1], (strange, unknown, -1));
    }
    assert_eq!(client.read_from(0).unwrap(), [(0, 0), (1, 0)]);

    let request = DeleteTopicsRequest {
        topic_names: vec![TOPIC.to_owned()],
        timeout_ms: 5000,
        ..Default::default()
    };
    assert_eq!(client.call(4, &request).unwrap().responses[0].error_code, ErrorCode::None);
    broker.make_topic();
    let again = id_of_topic(&mut client);
    let answered = produce_to(&mut client, [id, again]);
    assert_eq!(answered, [(id, unknown, -1), (again, ErrorCode::None, 0)], "another of its name");
    broker.stop().unwrap();
}

#[test]
fn partitions_of_a_topic_are_answered_together_whether_they_exist_or_not() {
    let broker = LocalBroker::new(5, &[]);
    let mut client = broker.connect();
    let id = id_of_topic(&mut client);
    for version in [12, 13] {
        let partition = |index| {
            let records = Records::Bytes(batch([1]).into());
            produce::RequestPartition { index, records }
        };
        let topic = produce::RequestTopic {
            name: TOPIC.to_owned(),
            topic_id: id,
            partitions: vec![partition(0), partition(7)],
        };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 5000,
            topics: vec![topic],
            ..Default::default()
        };
        let topics = client.call(version, &request).unwrap().topics;
        assert_eq!(topics.len(), 1, "version {version}");
        let rows = topics.iter().flat_map(|topic| &topic.partitions);
        let codes: Vec<_> = rows.map(|row| (row.index, row.error_code)).collect();
        let unknown = ErrorCode::UnknownTopicOrPartition;
        assert_eq!(codes, [(0, ErrorCode::None), (7, unknown)], "version {version}");
    }
    broker.stop().unwrap();
}

#[test]
fn offsets_are_committed_and_fetched_by_the_ids_of_their_topics() {
    let broker = LocalBroker::new(2, &[]);
    let mut client = broker.connect();
    let id = id_of_topic(&mut client);
    let find =
        FindCoordinatorRequest { coordinator_keys: vec![GROUP.to_owned()], ..Default::default() };
    assert_eq!(client.call(6, &find).unwrap().coordinators[0].error_code, ErrorCode::None);

    let partition = offset_commit::RequestPartition { committed_offset: 5, ..Default::default() };
    let topic = |topic_id| offset_commit::RequestTopic {
        topic_id,
        partitions: vec![partition.clone()],
        ..Default::default()
    };
    let request = OffsetCommitRequest {
        group_id: GROUP.to_owned(),
        generation_id_or_member_epoch: -1,
        topics: vec![topic(id), topic(STRANGER)],
        ..Default::default()
    };
    let mut commit = || client.call(10, &request).unwrap().topics;
    let topics = once_loaded(|| {
        let topics = commit();
        crate::support::accepted(topics[0].partitions[0].error_code).map(|()| topics)
    });
    let codes: Vec<_> =
        topics.unwrap().iter().map(|t| (t.topic_id, t.partitions[0].error_code)).collect();
    assert_eq!(codes, [(id, ErrorCode::None), (STRANGER, ErrorCode::UnknownTopicId)]);

    let asked = |topic_id| offset_fetch::RequestTopic {
        topic_id,
        partition_indexes: vec![0],
        ..Default::default()
    };
    for topics in [Some(vec![asked(id), asked(STRANGER)]), None] {
        let group = offset_fetch::RequestGroup {
            group_id: GROUP.to_owned(),
            topics: topics.clone(),
            ..Default::default()
        };
        let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
        let found = client.call(10, &request).unwrap().groups.remove(0).topics;
        let row = |topic: &offset_fetch::Topic| {
            let partition = &topic.partitions[0];
            (topic.topic_id, partition.committed_offset, partition.error_code)
        };
        let found: Vec<_> = found.iter().map(row).collect();
        assert_eq!(found[0], (id, 5, ErrorCode::None));
        let strange = topics.map(|_| (STRANGER, -1, ErrorCode::UnknownTopicId));
        assert_eq!(found.get(1).copied(), strange);
    }
    broker.stop().unwrap();
}

#[test]
fn a_client_that_means_another_cluster_or_broker_is_told_to_look_for_it() {
    let broker = LocalBroker::new(3, &[]);
    let mut client = broker.connect();
    let cluster = client.call(2, &DescribeClusterRequest::default()).unwrap().cluster_id;
    let mut ask = |cluster_id: Option<&str>, node_id| {
        let request = ApiVersionsRequest {
            client_software_name: "test".to_owned(),
            client_software_version: "1".to_owned(),
            cluster_id: cluster_id.map(str::to_owned),
            node_id,
        };
        let answer = client.call(5, &request).unwrap();
        assert_eq!(answer.api_keys.is_empty(), answer.error_code.is_error());
        answer.error_code
    };
    let meant = Some(cluster.as_str());
    assert_eq!(ask(None, -1), ErrorCode::None);
    assert_eq!(ask(meant, 1), ErrorCode::None);
    assert_eq!(ask(meant, 7), ErrorCode::RebootstrapRequired);
    assert_eq!(ask(Some("another"), 1), ErrorCode::RebootstrapRequired);
    assert_eq!(ask(None, 1), ErrorCode::InvalidRequest);
    assert_eq!(ask(meant, -1), ErrorCode::InvalidRequest);
    broker.stop().unwrap();
}

#[test]
fn nothing_is_in_tiered_storage() {
    let broker = LocalBroker::new(4, &[]);
    let mut client = broker.connect();
    client.produce(batch([1, 2]), -1).unwrap().unwrap();
    for timestamp in [LATEST_TIERED, EARLIEST_PENDING_UPLOAD] {
        let place = list_offsets::RequestPartition { timestamp, ..Default::default() };
        let topic = list_offsets::RequestTopic { name: TOPIC.to_owned(), partitions: vec![place] };
        let request =
            ListOffsetsRequest { topics: vec![topic], timeout_ms: 100, ..Default::default() };
        let found = client.call(11, &request).unwrap().topics.remove(0).partitions.remove(0);
        assert_eq!((found.error_code, found.offset), (ErrorCode::None, -1), "{timestamp}");
    }
    broker.stop().unwrap();
}
