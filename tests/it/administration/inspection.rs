//! Administrative queries of tools: each response is correct, including empty ones.

use streamlog::wire::alter_partition_reassignments::{
    self as alter, AlterPartitionReassignmentsRequest,
};
use streamlog::wire::create_acls::{CreateAclsRequest, Creation};
use streamlog::wire::create_partitions::{self, CreatePartitionsRequest};
use streamlog::wire::delete_acls::{DeleteAclsRequest, Filter};
use streamlog::wire::describe_producers::{self, DescribeProducersRequest};
use streamlog::wire::describe_topic_partitions::{self as pages, DescribeTopicPartitionsRequest};
use streamlog::wire::describe_user_scram_credentials::{DescribeUserScramCredentialsRequest, User};
use streamlog::wire::elect_leaders::{self, ElectLeadersRequest, PREFERRED, UNCLEAN};
use streamlog::wire::list_config_resources::{BROKER, ListConfigResourcesRequest, TOPIC as TOPICS};
use streamlog::wire::{
    DescribeAclsRequest, DescribeClientQuotasRequest, ErrorCode, ListPartitionReassignmentsRequest,
    Marked,
};

use crate::support::{Connection, LocalBroker, TOPIC, batch, sequenced};

fn grow(client: &mut Connection, count: i32) {
    let topic =
        create_partitions::RequestTopic { name: TOPIC.to_owned(), count, ..Default::default() };
    let request =
        CreatePartitionsRequest { topics: vec![topic], timeout_ms: 10_000, validate_only: false };
    let answered = client.call(3, &request).unwrap();
    assert_eq!(answered.results[0].error_code, ErrorCode::None);
}

#[test]
fn without_an_authorizer_every_request_about_rules_is_told_so() {
    let broker = LocalBroker::new(1, &[]);
    let mut client = broker.connect();
    for version in 1..=3 {
        let listed = client.call(version, &DescribeAclsRequest::default()).unwrap();
        assert_eq!(listed.error_code, ErrorCode::SecurityDisabled);
        assert!(listed.error_message.unwrap().contains("authorizer"));
        let request = CreateAclsRequest { creations: vec![Creation::default(); 2] };
        let made = client.call(version, &request).unwrap().results;
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|result| result.error_code == ErrorCode::SecurityDisabled));
        let request = DeleteAclsRequest { filters: vec![Filter::default(); 3] };
        let removed = client.call(version, &request).unwrap().filter_results;
        assert_eq!(removed.len(), 3);
        assert!(removed.iter().all(|result| result.error_code == ErrorCode::SecurityDisabled));
    }
}

#[test]
fn nobody_is_limited_nobody_logs_in_and_nothing_moves() {
    let broker = LocalBroker::new(2, &[]);
    let mut client = broker.connect();
    let quotas = client.call(1, &DescribeClientQuotasRequest::default()).unwrap();
    assert_eq!((quotas.error_code, quotas.entries), (ErrorCode::None, Some(Vec::new())));

    let everybody = DescribeUserScramCredentialsRequest { users: None };
    let users = client.call(0, &everybody).unwrap();
    assert_eq!((users.error_code, users.results), (ErrorCode::None, Vec::new()));
    let user = User { name: "alice".to_owned() };
    let one = DescribeUserScramCredentialsRequest { users: Some(vec![user]) };
    let users = client.call(0, &one).unwrap().results;
    assert_eq!((&*users[0].user, users[0].error_code), ("alice", ErrorCode::ResourceNotFound));

    let all = ListPartitionReassignmentsRequest { topics: None, ..Default::default() };
    let moving = client.call(0, &all).unwrap();
    assert_eq!((moving.error_code, moving.topics), (ErrorCode::None, Vec::new()));
}

#[test]
fn a_partition_may_be_sent_only_where_it_is() {
    let broker = LocalBroker::new(3, &[]);
    let mut client = broker.connect();
    let wanted = [
        (0, Some(vec![1]), ErrorCode::None),
        (0, Some(vec![2]), ErrorCode::InvalidReplicaAssignment),
        (0, Some(Vec::new()), ErrorCode::InvalidReplicaAssignment),
        (0, None, ErrorCode::NoReassignmentInProgress),
        (7, Some(vec![1]), ErrorCode::UnknownTopicOrPartition),
    ];
    for (partition_index, replicas, code) in wanted {
        let partitions = vec![alter::RequestPartition { partition_index, replicas }];
        let topics = vec![alter::RequestTopic { name: TOPIC.to_owned(), partitions }];
        let request = AlterPartitionReassignmentsRequest { topics, ..Default::default() };
        let answered = client.call(1, &request).unwrap();
        assert_eq!(answered.error_code, ErrorCode::None);
        assert_eq!(answered.responses[0].partitions[0].error_code, code);
    }
}

#[test]
fn a_partition_led_by_its_first_replica_needs_no_election() {
    let broker = LocalBroker::new(4, &[]);
    let mut client = broker.connect();
    for election_type in [PREFERRED, UNCLEAN] {
        let partitions = vec![0, 9];
        let topic = elect_leaders::RequestTopic { topic: TOPIC.to_owned(), partitions };
        let topic_partitions = Some(vec![topic]);
        let request = ElectLeadersRequest { election_type, topic_partitions, ..Default::default() };
        let answered = client.call(2, &request).unwrap().replica_election_results;
        let codes: Vec<_> = answered[0].partition_result.iter().map(|p| p.error_code).collect();
        assert_eq!(codes, [ErrorCode::ElectionNotNeeded, ErrorCode::UnknownTopicOrPartition]);

        let all = ElectLeadersRequest { election_type, ..Default::default() };
        assert_eq!(client.call(2, &all).unwrap().replica_election_results, []);
    }
    let request = ElectLeadersRequest { election_type: 5, ..Default::default() };
    assert_eq!(client.call(1, &request).unwrap().error_code, ErrorCode::InvalidRequest);
}

#[test]
fn what_has_settings_is_listed_by_kind() {
    let broker = LocalBroker::new(5, &[]);
    let mut client = broker.connect();
    let all = ListConfigResourcesRequest::default();
    let listed = client.call(1, &all).unwrap();
    assert_eq!(listed.error_code, ErrorCode::None);
    let pairs: Vec<_> =
        listed.config_resources.iter().map(|r| (r.resource_type, &*r.resource_name)).collect();
    assert_eq!(pairs, [(TOPICS, TOPIC), (BROKER, "1")]);
    // Version 0 asks for subscriptions to metrics only.
    assert_eq!(client.call(0, &all).unwrap().config_resources, []);
    let unknown = ListConfigResourcesRequest { resource_types: vec![99] };
    assert_eq!(client.call(1, &unknown).unwrap().error_code, ErrorCode::UnsupportedVersion);
}

#[test]
fn the_producers_of_a_partition_are_told_with_their_last_sequence() {
    let broker = LocalBroker::new(6, &[]);
    let mut client = broker.connect();
    client.produce(batch([1]), -1).unwrap().unwrap();
    client.produce(sequenced([1, 2, 3], (7, 2), 0), -1).unwrap().unwrap();
    client.produce(sequenced([4, 5], (7, 2), 3), -1).unwrap().unwrap();
    let topic =
        describe_producers::RequestTopic { name: TOPIC.to_owned(), partition_indexes: vec![0, 8] };
    let request = DescribeProducersRequest { topics: vec![topic] };
    let answered = client.call(0, &request).unwrap().topics.remove(0).partitions;
    assert_eq!(answered[1].error_code, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(answered[0].active_producers.len(), 1, "who is not idempotent is not remembered");
    let known = &answered[0].active_producers[0];
    assert_eq!((known.producer_id, known.producer_epoch, known.last_sequence), (7, 2, 4));
    assert_eq!((known.coordinator_epoch, known.current_txn_start_offset), (-1, -1));
    assert!(known.last_timestamp > 0);
}

/// The pages of a question: for each topic on each, its error and partitions.
fn read_pages(
    client: &mut Connection,
    names: &[&str],
    limit: i32,
) -> Vec<Vec<(String, ErrorCode, Vec<i32>)>> {
    let topics = names.iter().map(|name| pages::RequestTopic { name: (*name).to_owned() });
    let mut request = DescribeTopicPartitionsRequest {
        topics: topics.collect(),
        response_partition_limit: limit,
        cursor: None,
    };
    let mut read = Vec::new();
    loop {
        let page = client.call(0, &request).unwrap();
        let topic = |topic: pages::Topic| {
            let partitions = topic.partitions.iter().map(|p| {
                assert_eq!(
                    (p.leader_id, &p.isr_nodes, p.error_code),
                    (1, &vec![1], ErrorCode::None)
                );
                // Apache's admin client fails where these are null.
                assert_eq!(
                    (&p.eligible_leader_replicas, &p.last_known_elr),
                    (&Some(vec![]), &Some(vec![]))
                );
                p.partition_index
            });
            (topic.name.unwrap(), topic.error_code, partitions.collect())
        };
        read.push(page.topics.into_iter().map(topic).collect());
        let Some(Marked(next)) = page.next_cursor else { return read };
        assert!(read.len() < 20, "the pages never end");
        request.cursor = Some(Marked(next));
    }
}

#[test]
fn topics_are_described_page_by_page_in_the_order_of_their_names() {
    let broker = LocalBroker::new(7, &[]);
    let mut client = broker.connect();
    grow(&mut client, 5);
    let part = |partitions: &[i32]| (TOPIC.to_owned(), ErrorCode::None, partitions.to_vec());
    let absent = |name: &str| (name.to_owned(), ErrorCode::UnknownTopicOrPartition, Vec::new());
    assert_eq!(read_pages(&mut client, &[], 2_000), [[part(&[0, 1, 2, 3, 4])]]);
    let pages = read_pages(&mut client, &["zebra", TOPIC, "ape"], 2);
    let wanted = [
        vec![absent("ape"), part(&[0, 1])],
        vec![part(&[2, 3])],
        vec![part(&[4]), absent("zebra")],
    ];
    assert_eq!(pages, wanted);
    let full = read_pages(&mut client, &["zebra", TOPIC], 5);
    assert_eq!(full, [vec![part(&[0, 1, 2, 3, 4])], vec![absent("zebra")]]);
}
