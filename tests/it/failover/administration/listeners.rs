//! Brokers that talk to each other by a listener of their own.

use streamlog::wire::ErrorCode;
use streamlog::wire::create_topics::{CreateTopicsRequest, RequestTopic};

use crate::failover::three_brokers::{IDS, ThreeBrokers};
use crate::support::{TOPIC, batch};

#[test]
fn brokers_reach_each_other_by_the_listener_that_is_named_for_them() {
    // Nobody is behind the address that clients are told.
    let cluster = ThreeBrokers::start(&[
        "listeners=OUTSIDE://127.0.0.1:0,INSIDE://127.0.0.1:0",
        "advertised.listeners=OUTSIDE://127.0.0.1:1",
        "listener.security.protocol.map=OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT",
        "inter.broker.listener.name=INSIDE",
    ]);
    let topic = RequestTopic {
        name: TOPIC.to_owned(),
        num_partitions: 1,
        replication_factor: 3,
        ..RequestTopic::default()
    };
    let request =
        CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..Default::default() };
    // It is answered once the other brokers have said that they serve the topic.
    let created = cluster.any_broker().connect().call(5, &request).unwrap();
    assert_eq!(created.topics[0].error_code, ErrorCode::None, "{}", cluster.logs());
    cluster.await_in_sync(TOPIC, &IDS);
    let mut leader = cluster.broker(cluster.leader(TOPIC)).connect();
    assert_eq!(leader.produce(batch([7]), -1).unwrap(), Ok(0), "{}", cluster.logs());
}
