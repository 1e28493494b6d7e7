//! Cuts and delays between nodes, and between them and their clients.

use std::time::{Duration, Instant};

use streamlog::cluster::{ClusterError, End};
use streamlog::wire::metadata::MetadataRequest;

use super::three_nodes::{PATIENCE, ThreeNodes, numbers, store_at};
use crate::support::{TOPIC, batch};

#[test]
fn a_follower_that_is_cut_off_leaves_the_in_sync_set_and_returns_after_the_cut() {
    let cluster = ThreeNodes::start(&[("replica.lag.time.max.ms", "500")]);
    let leader = cluster.leading();
    let follower = (leader + 1) % 3;
    cluster.cut(leader, follower, false).unwrap();
    // Acknowledged by the others as soon as the follower is out.
    cluster.store(1);
    let lacking = cluster.wait_in_sync(Duration::ZERO).unwrap_err();
    assert!(matches!(lacking, ClusterError::NotInSync { .. }), "{lacking}");
    cluster.heal();
    cluster.wait_in_sync(PATIENCE).unwrap();
    cluster.store(2);
    assert_eq!(cluster.stored(TOPIC), [1, 2]);
}

#[test]
fn a_cut_in_one_direction_lets_the_other_pass() {
    let cluster = ThreeNodes::start(&[]);
    let leader = cluster.leading();
    let mut connection = cluster.connect(leader);
    cluster.cut(leader, End::Clients, true).unwrap();
    connection.send_batch(batch([1]), -1).unwrap();
    assert!(connection.is_silent_for(Duration::from_millis(300)), "its answer has passed");
    cluster.heal();
    assert_eq!(connection.receive_offset().unwrap(), Ok(0));

    cluster.cut(End::Clients, leader, true).unwrap();
    connection.send_batch(batch([2]), -1).unwrap();
    assert!(connection.is_silent_for(Duration::from_millis(300)));
    let mut late = cluster.connect(leader);
    late.send_fetch(0, Duration::ZERO).unwrap();
    assert!(late.is_silent_for(Duration::from_millis(100)), "a new connection passes");
    cluster.heal();
    assert_eq!(connection.receive_offset().unwrap(), Ok(1));
    assert!(numbers(&late.receive_records().unwrap()).starts_with(&[1]));
}

#[test]
fn clients_reach_the_nodes_that_a_cut_does_not_name() {
    let cluster = ThreeNodes::start(&[]);
    cluster.cut(End::Clients, 0, false).unwrap();
    let mut cut_off = cluster.connect(0);
    cut_off.send(9, &MetadataRequest::default()).unwrap();
    for node in [1, 2] {
        cluster.connect(node).call(9, &MetadataRequest::default()).unwrap();
    }
    assert!(cut_off.is_silent_for(Duration::from_millis(100)));
    // The nodes still reach each other.
    cluster.wait_in_sync(PATIENCE).unwrap();
}

#[test]
fn an_exchange_takes_the_delay_of_each_direction_longer() {
    let cluster = ThreeNodes::start(&[("min.insync.replicas", "3")]);
    let leader = cluster.leading();
    let time = |delayed: &dyn Fn()| {
        delayed();
        let begin = Instant::now();
        store_at(cluster.connect(leader), 1).unwrap().unwrap();
        begin.elapsed()
    };
    let delay = Duration::from_millis(200);
    let taken = time(&|| cluster.delay(End::Clients, leader, delay).unwrap());
    assert!(taken >= 2 * delay, "{taken:?}");
    cluster.heal();
    let taken = time(&|| cluster.delay(leader, (leader + 1) % 3, delay).unwrap());
    assert!(taken >= 2 * delay, "a follower has acknowledged within {taken:?}");
    cluster.heal();
    cluster.store(2);
}
