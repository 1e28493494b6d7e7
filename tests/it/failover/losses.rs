//! A partition whose in-sync replicas are gone for good: an operator accepts the loss.

use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use streamlog::client::{Client, ProducerConfig, ProducerRecord, Resource};
use streamlog::io::SystemClock;
use streamlog::metadata::{Store, ZooKeeperAddress, ZooKeeperStore};

use super::load::read_all;
use super::three_brokers::{PATIENCE, ThreeBrokers, others};
use crate::support::BrokerProcess;

const TOPIC: &str = "lost";

/// The number of records that every replica has.
const KEPT: u64 = 10;

/// Writes numbers, each acknowledged by all in-sync replicas.
fn write(client: &Client, numbers: std::ops::Range<u64>) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let value = number.to_string();
        let value = Some(value.as_bytes());
        let record = ProducerRecord { topic: TOPIC, value, ..ProducerRecord::default() };
        producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

fn numbers(client: &Client) -> Vec<u64> {
    read_all(client, TOPIC).into_values().collect()
}

/// Runs `streamlog partition elect` for the only partition.
fn elect(broker: &BrokerProcess, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["partition", "elect", &format!("{TOPIC}-0"), "-o", "json"]).args(options);
    command.env("STREAMLOG_BOOTSTRAP", broker.address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    command.output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The records of such elections in ZooKeeper.
#[tokio::main(flavor = "current_thread")]
async fn recorded(tree: ZooKeeperAddress) -> Vec<Value> {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let nodes = store.snapshot("/streamlog/unclean_elections").await.unwrap();
    let records = nodes.iter().filter(|(_, node)| !node.value.is_empty());
    records.map(|(_, node)| serde_json::from_slice(&node.value).unwrap()).collect()
}

#[test]
fn a_replica_that_lacks_records_leads_once_an_operator_accepts_the_loss() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    let leader = cluster.leader(TOPIC);
    let [follower, left] = others(leader)[..] else { panic!("not three brokers") };
    write(&cluster.client(), 0..KEPT);
    cluster.kill(left);
    let mut in_sync = [leader, follower];
    in_sync.sort_unstable();
    cluster.await_in_sync(TOPIC, &in_sync);
    write(&cluster.client(), KEPT..KEPT + 5);

    let refused = elect(cluster.broker(leader), &["--accept-data-loss", "0"]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains("none have to be given up"), "{}", words(&refused));

    // They never return.
    cluster.kill(follower);
    cluster.kill(leader);
    cluster.start_broker(left);
    cluster.await_registered(left, &[left]);
    cluster.await_seen_by(left, TOPIC, |partition| partition.leader_id == -1);
    let expected = format!("broker {left} would lead {TOPIC}-0, and its records from {KEPT} on");
    // Without an acceptance, and with that of a smaller loss.
    for options in [&[][..], &["--accept-data-loss", "11"]] {
        let told = elect(cluster.broker(left), options);
        assert_eq!(told.status.code(), Some(2), "{}", words(&told));
        assert!(words(&told).contains(&expected), "{}", words(&told));
        assert_eq!(cluster.leader(TOPIC), -1, "nothing was done");
    }

    let elected = elect(cluster.broker(left), &["--accept-data-loss", "10"]);
    assert_eq!(elected.status.code(), Some(0), "{}", words(&elected));
    let row: Value = serde_json::from_slice(&elected.stdout).unwrap();
    assert_eq!(row["leader"], left);
    assert_eq!(row["given_up_from"], KEPT);
    assert!(row["given_up"].is_null(), "{row}");
    cluster.await_seen_by(left, TOPIC, |partition| {
        partition.leader_id == left && partition.isr_nodes == [left]
    });
    let records = recorded(cluster.zookeeper().tree("/streamlog"));
    assert_eq!(records.len(), 1, "{records:?}");
    let record = &records[0];
    assert_eq!(record["topic"], TOPIC);
    assert_eq!(record["leader"], left);
    assert_eq!(record["given_up_from"], KEPT);
    assert_eq!(record["accepts_two_leaders"], false);
    assert!(record["asked_by"].as_str().unwrap().contains("127.0.0.1"), "{record}");

    // It is the only replica left.
    let alone = [("min.insync.replicas".to_owned(), Some("1".to_owned()))];
    let topic = Resource::Topic(TOPIC.to_owned());
    cluster.client().admin().alter_configs(&topic, &alone, false).unwrap();
    write(&cluster.client(), 100..101);
    let expected: Vec<u64> = (0..KEPT).chain([100]).collect();
    assert_eq!(numbers(&cluster.client()), expected);

    // A broker that had the records returns after all, and gives them up too.
    cluster.start_broker(leader);
    let mut in_sync = [leader, left];
    in_sync.sort_unstable();
    cluster.await_in_sync(TOPIC, &in_sync);
    assert_eq!(cluster.log_bytes(leader, TOPIC, 0), cluster.log_bytes(left, TOPIC, 0));
    assert_eq!(numbers(&cluster.client()), expected);
}
