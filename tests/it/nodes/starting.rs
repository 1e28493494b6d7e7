//! The start and the end of a cluster.

use std::net::TcpStream;
use std::time::Duration;

use streamlog::cluster::{ClusterError, LocalCluster};
use streamlog::wire::metadata::MetadataRequest;

use super::three_nodes::ThreeNodes;
use crate::support::{Connection, TOPIC};

#[test]
fn every_node_accepts_requests_and_knows_all_others_at_once() {
    let cluster = LocalCluster::start(3).unwrap();
    for node in 0..cluster.len() {
        let mut connection = Connection::open(cluster.address(node).unwrap()).unwrap();
        let answer = connection.call(9, &MetadataRequest::default()).unwrap();
        let mut known: Vec<_> = answer.brokers.iter().map(|b| (b.node_id, b.port)).collect();
        known.sort_unstable();
        let expected: Vec<_> = (0..3)
            .zip(0..)
            .map(|(node, id)| (id, i32::from(cluster.address(node).unwrap().port())))
            .collect();
        assert_eq!(known, expected);
    }
    let addresses: Vec<_> = (0..3).map(|node| cluster.address(node).unwrap().to_string()).collect();
    assert_eq!(cluster.bootstrap(), addresses.join(","));
    cluster.wait_in_sync(Duration::from_secs(30)).unwrap();
}

#[test]
fn two_clusters_in_one_process_share_nothing() {
    let (one, other) = (ThreeNodes::start(&[]), ThreeNodes::start(&[]));
    one.store(1);
    other.store(2);
    assert_eq!((one.stored(TOPIC), other.stored(TOPIC)), (vec![1], vec![2]));
}

#[test]
fn a_cluster_that_is_dropped_leaves_nothing_that_answers() {
    let cluster = ThreeNodes::start(&[]);
    cluster.pause(1, Duration::from_mins(1)).unwrap();
    cluster.kill(2).unwrap();
    let addresses: Vec<_> = (0..3).map(|node| cluster.address(node).unwrap()).collect();
    drop(cluster);
    for address in addresses {
        TcpStream::connect(address).unwrap_err();
    }
}

#[test]
fn a_request_that_no_cluster_can_fulfil_is_refused() {
    for asked in [0, 17] {
        let refused = LocalCluster::start(asked);
        assert!(matches!(refused, Err(ClusterError::NodeCount { most: 16, .. })), "{refused:?}");
    }
    let settings = [("listeners", "127.0.0.1:9092"), ("log.dirs", "/tmp")];
    let refused = LocalCluster::start_with(3, &settings).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "listeners: each node of a cluster in this process has its own\n\
         log.dirs: each node of a cluster in this process has its own"
    );
    let refused = LocalCluster::start_with(3, &[("num.partitions", "0")]);
    assert!(matches!(refused, Err(ClusterError::Config(_))), "{refused:?}");

    let cluster = LocalCluster::start(1).unwrap();
    let refused = cluster.kill(1).unwrap_err().to_string();
    assert_eq!(refused, "there is no node 1: the nodes are 0 to 0");
    let refused = cluster.cut(0, 0, false).unwrap_err().to_string();
    assert_eq!(refused, "a cut or a delay needs two different ends, not node 0 twice");
    let refused = cluster.leader("none", 0).unwrap_err().to_string();
    assert_eq!(refused, "there is no partition 0 of a topic 'none'");
}
