//! Nodes in the ZooKeeper of three brokers that somebody deletes by hand.

use std::sync::Arc;
use std::time::Duration;

use streamlog::io::SystemClock;
use streamlog::metadata::{Op, Store, ZooKeeperAddress, ZooKeeperStore};

use crate::failover::three_brokers::{IDS, ThreeBrokers, others};

const TOPIC: &str = "edited";

#[tokio::main(flavor = "current_thread")]
async fn delete(tree: ZooKeeperAddress, path: &str) {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let version = store.get(path).await.unwrap().unwrap().version;
    store.multi(vec![Op::delete(path, version)]).await.unwrap();
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
