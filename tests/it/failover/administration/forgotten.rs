//! Brokers that are gone for good.

use std::process::{Command, Output};

use crate::failover::three_brokers::ThreeBrokers;
use crate::support::BrokerProcess;

const TOPIC: &str = "kept";

/// Runs `streamlog cluster unregister`.
fn unregister(broker: &BrokerProcess, id: i32) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["cluster", "unregister", &id.to_string()]);
    command.env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_broker_is_forgotten_once_it_is_gone_and_has_no_replica() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let refused = unregister(cluster.broker(1), 3);
    assert!(words(&refused).contains("broker 3 is registered"), "{}", words(&refused));
    cluster.stop(3);
    cluster.await_registered(1, &[1, 2]);
    let refused = unregister(cluster.broker(1), 3);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    let listed = format!("broker 3 has replicas of {TOPIC}-0");
    assert!(words(&refused).contains(&listed), "{}", words(&refused));
    cluster.client().admin().delete_topic(TOPIC).unwrap();

    let forgotten = unregister(cluster.broker(1), 3);
    assert_eq!(forgotten.status.code(), Some(0), "{}", words(&forgotten));
    let unknown = unregister(cluster.broker(2), 3);
    assert!(words(&unknown).contains("no broker 3 is known"), "{}", words(&unknown));
    // It may come back, as a new broker.
    cluster.start_broker(3);
    cluster.await_registered(1, &[1, 2, 3]);
    cluster.make_topic("again", 1);
}
