//! Nodes in the ZooKeeper of three brokers that somebody deletes by hand.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use streamlog::client::{ProducerConfig, ProducerRecord};
use streamlog::io::SystemClock;
use streamlog::metadata::{Node, Op, Store, ZooKeeperAddress, ZooKeeperStore};

use crate::failover::administration::{await_problems, problems, streamlog};
use crate::failover::load::read_all;
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "edited";

async fn store(tree: ZooKeeperAddress) -> ZooKeeperStore {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap()
}

/// Deletes a node and all below it, and returns them, parents first.
#[tokio::main(flavor = "current_thread")]
async fn delete(tree: ZooKeeperAddress, path: &str) -> Vec<(String, Node)> {
    let store = store(tree).await;
    let nodes = store.snapshot(path).await.unwrap();
    let deletions = nodes.iter().rev().map(|(path, node)| Op::delete(path.clone(), node.version));
    store.multi(deletions.collect()).await.unwrap();
    nodes
}

/// Makes deleted nodes again.
#[tokio::main(flavor = "current_thread")]
async fn restore(tree: ZooKeeperAddress, nodes: Vec<(String, Node)>) {
    let creations = nodes.into_iter().map(|(path, node)| Op::create(path, node.value));
    store(tree).await.multi(creations.collect()).await.unwrap();
}

/// Deletes a node and makes it again, so that no broker sees that it is missing.
#[tokio::main(flavor = "current_thread")]
async fn replace(tree: ZooKeeperAddress, path: &str) -> i32 {
    let store = store(tree).await;
    let Node { value, version, .. } = store.get(path).await.unwrap().unwrap();
    store.multi(vec![Op::delete(path, version), Op::create(path, value)]).await.unwrap();
    version
}

/// Writes the first numbers.
fn write(cluster: &ThreeBrokers, topic: &str) {
    write_all(cluster, topic, 0..200);
}

fn write_all(cluster: &ThreeBrokers, topic: &str, numbers: Range<u64>) {
    let producer = cluster.client().producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let value = number.to_string();
        let value = Some(value.as_bytes());
        let record = ProducerRecord { topic, value, ..ProducerRecord::default() };
        producer.send(&record).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

fn read(cluster: &ThreeBrokers, topic: &str) -> Vec<u64> {
    read_all(&cluster.client(), topic).into_values().collect()
}

#[test]
fn brokers_whose_nodes_were_deleted_are_known_again_and_in_sync_sets_go_on_changing() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    for id in IDS {
        let tree = cluster.zookeeper().tree("/streamlog");
        delete(tree, &format!("/streamlog/brokers/{id}"));
    }
    let follower = others(cluster.leader(TOPIC))[0];
    cluster.kill(follower);
    cluster.await_in_sync(TOPIC, &others(follower));
    cluster.start_broker(follower);
    cluster.await_in_sync(TOPIC, &IDS);
    let told = cluster.log(cluster.leader(TOPIC));
    assert!(told.contains("was deleted or damaged by hand: it is written again"), "{told}");
}

#[test]
fn in_sync_sets_go_on_changing_after_a_state_was_restored_whose_deletion_nobody_saw() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    let follower = others(cluster.leader(TOPIC))[0];
    for is_replaced in [false, true] {
        if is_replaced {
            let tree = cluster.zookeeper().tree("/streamlog");
            let version = replace(tree, &format!("/brokers/topics/{TOPIC}/partitions/0/state"));
            assert!(version > 1, "the leader knows a later version than that of the new node");
        }
        cluster.kill(follower);
        cluster.await_in_sync(TOPIC, &others(follower));
        cluster.start_broker(follower);
        cluster.await_in_sync(TOPIC, &IDS);
    }
    write(&cluster, TOPIC);
    assert_eq!(read(&cluster, TOPIC), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_deleted_state_is_named_and_rebuilt_on_request_from_the_logs_of_all_replicas() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster, TOPIC);
    let place = format!("{TOPIC}-0");
    let rebuild = |cluster: &ThreeBrokers, options: &[&str]| {
        let verb = ["partition", "rebuild-state", &place];
        streamlog(cluster.any_broker(), &[&verb, options].concat())
    };
    let needless = rebuild(&cluster, &["--yes"]);
    assert_eq!(needless.status.code(), Some(2), "{needless:?}");
    assert!(String::from_utf8_lossy(&needless.stderr).contains("nothing to rebuild"));

    let tree = cluster.zookeeper().tree("/streamlog");
    delete(tree, &format!("/brokers/topics/{TOPIC}/partitions/0/state"));
    await_named(&cluster, &place);

    // The broker that answers may be the last to learn of the deletion.
    let deadline = Instant::now() + PATIENCE;
    let told = loop {
        let unconfirmed = rebuild(&cluster, &[]);
        assert_eq!(unconfirmed.status.code(), Some(2), "{unconfirmed:?}");
        let told = String::from_utf8_lossy(&unconfirmed.stderr).into_owned();
        if !told.contains("nothing to rebuild") || Instant::now() > deadline {
            break told;
        }
    };
    assert!(told.contains("ends at 200") && told.contains("nothing was done"), "{told}");
    let confirmed = rebuild(&cluster, &["--yes"]);
    assert!(confirmed.status.success(), "{confirmed:?}");
    cluster.await_in_sync(TOPIC, &IDS);
    assert_eq!(read(&cluster, TOPIC), (0..200).collect::<Vec<_>>());
    assert_eq!(problems(cluster.any_broker()), []);
}

/// Waits until a check names the state of a partition as deleted.
fn await_named(cluster: &ThreeBrokers, place: &str) {
    await_problems(cluster.any_broker(), place, |found| {
        found.iter().any(|(.., words)| words.contains("was deleted by hand"))
    });
}

#[test]
fn a_stale_replica_that_returns_first_does_not_lead_a_partition_whose_nodes_were_deleted() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster, TOPIC);
    let leader = cluster.leader(TOPIC);
    let stale = others(leader)[0];
    cluster.kill(stale);
    cluster.await_in_sync(TOPIC, &others(stale));
    write_all(&cluster, TOPIC, 200..300);
    for id in others(stale) {
        cluster.kill(id);
    }
    let tree = cluster.zookeeper().tree("/streamlog");
    delete(tree, &format!("/brokers/topics/{TOPIC}/partitions/0"));
    cluster.start_broker(stale);
    let place = format!("{TOPIC}-0");
    await_named(&cluster, &place);
    for id in others(stale) {
        cluster.start_broker(id);
    }
    for id in IDS {
        cluster.await_registered(id, &IDS);
    }
    cluster.await_partitions(TOPIC, |partition| partition.leader_id == -1);
    let verb = ["partition", "rebuild-state", &place, "--yes"];
    let rebuilt = streamlog(cluster.any_broker(), &verb);
    assert!(rebuilt.status.success(), "{rebuilt:?}\n{}", cluster.logs());
    cluster.await_in_sync(TOPIC, &IDS);
    assert_eq!(read(&cluster, TOPIC), (0..300).collect::<Vec<_>>(), "{}", cluster.logs());
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn a_topic_deleted_by_hand_under_running_brokers_stops_alone_and_returns_with_its_nodes() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 2);
    cluster.make_topic("other", 1);
    write(&cluster, TOPIC);
    let tree = cluster.zookeeper().tree("/streamlog");
    let deleted = delete(tree, &format!("/brokers/topics/{TOPIC}"));
    for id in IDS {
        let deadline = Instant::now() + PATIENCE;
        while !cluster.partitions_seen_by(id, TOPIC).is_empty() {
            assert!(Instant::now() < deadline, "{}", cluster.log(id));
        }
    }
    write(&cluster, "other");
    assert_eq!(read(&cluster, "other"), (0..200).collect::<Vec<_>>());
    let found = problems(cluster.any_broker());
    let named = |words: &str| words.contains(&format!("the logs of topic '{TOPIC}'"));
    let logs = found.iter().filter(|(_, _, words)| named(words)).count();
    assert_eq!(
        (logs, found.len()),
        (IDS.len(), IDS.len()),
        "each broker names its logs: {found:?}"
    );
    let tree = cluster.zookeeper().tree("/streamlog");
    restore(tree, deleted);
    cluster.await_in_sync(TOPIC, &IDS);
    let mut numbers = read(&cluster, TOPIC);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>(), "{}", cluster.logs());
    assert_eq!(problems(cluster.any_broker()), []);
}
