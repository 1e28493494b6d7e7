//! The way from a broker that does not lead to the leader (KIP-951).

use std::net::SocketAddr;

use streamlog::types::TopicId;
use streamlog::wire::ErrorCode;
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use super::three_brokers::{IDS, ThreeBrokers};
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
