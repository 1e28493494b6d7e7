//! The leaders that brokers name: in refusals (KIP-951), and in metadata; and the replicas that may
//! lead although they are not in sync (KIP-966).

use std::net::SocketAddr;
use std::time::Duration;

use streamlog::client::{ConsumerConfig, NewTopic, ProducerConfig, ProducerRecord};
use streamlog::types::TopicId;
use streamlog::wire::ErrorCode;
use streamlog::wire::describe_topic_partitions::{self, DescribeTopicPartitionsRequest};
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::metadata::{MetadataRequest, Partition, RequestTopic};

use super::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};
use super::topics::produced_to;
use crate::support::Connection;

const TOPIC: &str = "led";

fn topic_id(connection: &mut Connection) -> TopicId {
    let topic = RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    connection.call(12, &request).unwrap().topics[0].topic_id
}

/// A request for records of the only partition.
fn fetch_of(topic_id: TopicId) -> FetchRequest {
    let partition = fetch::RequestPartition { partition_max_bytes: 1, ..Default::default() };
    let topic = fetch::RequestTopic { topic_id, partitions: vec![partition], ..Default::default() };
    FetchRequest { topics: vec![topic], ..Default::default() }
}

/// The leader's entry among the addresses of an answer.
fn endpoint(leader: i32, address: SocketAddr) -> (i32, String, i32) {
    (leader, address.ip().to_string(), i32::from(address.port()))
}

#[test]
fn a_broker_that_does_not_lead_names_the_leader_and_its_address() {
    let cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let partition = cluster.partitions(TOPIC).remove(0);
    let leader = (partition.leader_id, partition.leader_epoch);
    let address = cluster.broker(leader.0).address();
    for follower in IDS.into_iter().filter(|id| *id != leader.0) {
        let mut connection = cluster.broker(follower).connect();
        let refused = connection.call(10, &produced_to(TOPIC, 0)).unwrap();
        let row = &refused.topics[0].partitions[0];
        assert_eq!(row.error_code, ErrorCode::NotLeaderOrFollower);
        assert_eq!((row.current_leader.leader_id, row.current_leader.leader_epoch), leader);
        let named = refused.node_endpoints.iter().map(|e| (e.node_id, e.host.clone(), e.port));
        assert_eq!(named.collect::<Vec<_>>(), [endpoint(leader.0, address)]);

        let request = fetch_of(topic_id(&mut connection));
        let refused = connection.call(16, &request).unwrap();
        let row = &refused.topics[0].partitions[0];
        assert_eq!(row.error_code, ErrorCode::NotLeaderOrFollower);
        assert_eq!((row.current_leader.leader_id, row.current_leader.leader_epoch), leader);
        let named = refused.node_endpoints.iter().map(|e| (e.node_id, e.host.clone(), e.port));
        assert_eq!(named.collect::<Vec<_>>(), [endpoint(leader.0, address)]);
    }
}

#[test]
fn metadata_name_no_leader_whose_session_has_ended() {
    let mut cluster = ThreeBrokers::start(&["zookeeper.session.timeout.ms=30000"]);
    cluster.make_topic(TOPIC, 3);
    let request = MetadataRequest::default();
    let controller = cluster.any_broker().connect().call(9, &request).unwrap().controller_id;
    let (killed, asked) = (others(controller)[0], others(controller)[1]);
    // So that nobody elects other leaders yet.
    let paused = cluster.broker(controller).pause();
    cluster.kill(killed);
    cluster.await_registered(asked, &others(killed));
    let partitions = cluster.partitions_seen_by(asked, TOPIC);
    let leaderless = |partition: &&Partition| partition.leader_id == -1;
    assert_eq!(partitions.iter().filter(leaderless).count(), 1, "{partitions:?}");
    for partition in &partitions {
        let is_led = others(killed).contains(&partition.leader_id);
        let expected = if is_led { ErrorCode::None } else { ErrorCode::LeaderNotAvailable };
        assert_eq!(partition.error_code, expected, "{partition:?}");
    }
    drop(paused);
    cluster.await_in_sync(TOPIC, &others(killed));
}

/// The eligible replicas of the only partition, and those that are offline.
fn eligible_and_offline(connection: &mut Connection) -> (Vec<i32>, Vec<i32>) {
    let topic = describe_topic_partitions::RequestTopic { name: TOPIC.to_owned() };
    let request = DescribeTopicPartitionsRequest { topics: vec![topic], ..Default::default() };
    let described = connection.call(0, &request).unwrap().topics.remove(0).partitions.remove(0);
    assert_eq!(described.last_known_elr, Some(vec![]));
    (described.eligible_leader_replicas.unwrap(), described.offline_replicas)
}

#[test]
fn replicas_that_left_a_set_below_its_minimum_are_described_as_eligible() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let leader = cluster.leader(TOPIC);
    let [first, second] = others(leader)[..] else { panic!("not three brokers") };
    cluster.kill(first);
    cluster.await_partitions(TOPIC, |partition| partition.isr_nodes.len() == 2);
    let described = eligible_and_offline(&mut cluster.broker(leader).connect());
    assert_eq!(described, (vec![], vec![first]), "it has its minimum");
    cluster.kill(second);
    cluster.await_seen_by(leader, TOPIC, |partition| partition.isr_nodes == [leader]);
    let (eligible, mut offline) = eligible_and_offline(&mut cluster.broker(leader).connect());
    offline.sort_unstable();
    assert_eq!((eligible, offline), (vec![second], others(leader)));
}

#[test]
fn clients_leave_a_leader_that_is_paused_once_another_leads() {
    let cluster = ThreeBrokers::start(&["zookeeper.session.timeout.ms=2000"]);
    cluster.make_topic(TOPIC, 1);
    let leader = cluster.leader(TOPIC);
    // Both would wait for the answers of the paused leader for as long.
    let client = cluster.client_with(|config| config.request_timeout = Duration::from_mins(10));
    let producer = client.producer(ProducerConfig::default()).unwrap();
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let exchange = |value: &[u8]| {
        let record = ProducerRecord { topic: TOPIC, value: Some(value), ..Default::default() };
        producer.send(&record).unwrap();
        producer.flush(Some(PATIENCE)).unwrap();
        let message = consumer.next(Some(PATIENCE)).unwrap().unwrap();
        assert_eq!(message.value(), Some(value));
    };
    exchange(b"before");
    let paused = cluster.broker(leader).pause();
    exchange(b"after");
    drop(paused);
    cluster.await_in_sync(TOPIC, &IDS);
}

#[test]
fn administration_leaves_a_controller_that_is_paused_once_there_is_another() {
    let cluster = ThreeBrokers::start(&["zookeeper.session.timeout.ms=2000"]);
    let client = cluster.client_with(|config| config.request_timeout = Duration::from_mins(10));
    client.admin().create_topic("before", &NewTopic::default()).unwrap();
    let controller = cluster.any_broker().connect().call(9, &MetadataRequest::default()).unwrap();
    let paused = cluster.broker(controller.controller_id).pause();
    client.admin().create_topic("after", &NewTopic::default()).unwrap();
    drop(paused);
}
