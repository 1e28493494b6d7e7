//! Nodes that are killed, stopped and started, or fail.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use streamlog::cluster::ClusterError;
use streamlog::io::faulty::{Failure, Fault, Operation};

use super::three_nodes::{PATIENCE, ThreeNodes, store_at};
use crate::support::{TOPIC, batch};

#[test]
fn a_killed_node_answers_nothing_and_comes_back_with_its_records() {
    let cluster = ThreeNodes::start(&[]);
    cluster.store(1);
    for node in 0..3 {
        let address = cluster.address(node).unwrap();
        cluster.kill(node).unwrap();
        assert!(!cluster.is_running(node).unwrap());
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        cluster.start_node(node).unwrap();
        assert_eq!(cluster.address(node).unwrap(), address);
        cluster.wait_in_sync(PATIENCE).unwrap();
    }
    cluster.store(2);
    assert_eq!(cluster.stored(TOPIC), [1, 2]);
}

#[test]
fn a_killed_node_sends_no_more_bytes_on_its_connections() {
    let cluster = ThreeNodes::start(&[]);
    let leader = cluster.leading();
    let mut waiting = cluster.connect(leader);
    waiting.send_fetch(0, Duration::from_mins(1)).unwrap();
    let mut appending = cluster.connect(leader);
    for node in (0..3).filter(|node| *node != leader) {
        cluster.cut(leader, node, false).unwrap();
    }
    appending.send_batch(batch([1]), -1).unwrap();
    assert!(appending.is_silent_for(Duration::from_millis(100)));
    cluster.kill(leader).unwrap();
    assert_eq!(waiting.until_closed().unwrap_or_default(), b"");
    assert_eq!(appending.until_closed().unwrap_or_default(), b"");
}

#[test]
fn another_node_leads_at_once_after_a_kill() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "60000")]);
    cluster.store(1);
    let leader = cluster.leading();
    let begin = Instant::now();
    cluster.kill(leader).unwrap();
    cluster.leading_after(leader);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    cluster.store(2);
    assert_eq!(cluster.stored(TOPIC), [1, 2]);
}

#[test]
fn a_node_that_stops_in_order_hands_over_what_it_leads() {
    let cluster = ThreeNodes::start(&[]);
    cluster.store(1);
    let leader = cluster.leading();
    cluster.stop(leader).unwrap();
    let next = cluster.leader(TOPIC, 0).unwrap();
    assert!(next.is_some_and(|next| next != leader), "{next:?}");
    cluster.store(2);
    cluster.start_node(leader).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
    assert_eq!(cluster.stored(TOPIC), [1, 2]);
}

#[test]
fn only_a_node_that_runs_can_be_stopped_and_only_another_started() {
    let cluster = ThreeNodes::start(&[]);
    let refused = cluster.start_node(0).unwrap_err();
    assert!(matches!(refused, ClusterError::Running { node: 0 }), "{refused}");
    cluster.kill(0).unwrap();
    let pause = Duration::from_secs(1);
    for refused in [
        cluster.kill(0),
        cluster.stop(0),
        cluster.lose_power(0),
        cluster.pause(0, pause),
        cluster.expire(0),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, ClusterError::NotRunning { node: 0 }), "{refused}");
    }
    let lacking = cluster.wait_in_sync(Duration::from_millis(100)).unwrap_err();
    assert_eq!(lacking.to_string(), "not in sync within 100ms: node 0 is not registered");
}

#[test]
fn a_failed_disk_stops_its_node_and_nothing_else() {
    let cluster = ThreeNodes::start(&[]);
    cluster.store(1);
    let leader = cluster.leading();
    let disk = cluster.disk(leader).unwrap();
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).for_ever());
    disk.inject(Fault::new(Operation::SyncFilesystem, Failure::InputOutput).for_ever());
    let acknowledged = store_at(cluster.connect(leader), 2);
    assert!(!matches!(acknowledged, Ok(Ok(_))), "{acknowledged:?}");
    cluster.until(|| (!cluster.is_running(leader).unwrap()).then_some(()));
    let failure = cluster.failure(leader).unwrap().unwrap();
    assert!(!failure.is_empty());
    cluster.leading_after(leader);
    cluster.store(3);

    disk.clear_faults();
    cluster.start_node(leader).unwrap();
    assert_eq!(cluster.failure(leader).unwrap(), None);
    cluster.wait_in_sync(PATIENCE).unwrap();
    let stored = cluster.stored(TOPIC);
    assert!(stored == [1, 3] || stored == [1, 2, 3], "{stored:?}");
}
