//! Nodes that stand still for a while.

use std::time::{Duration, Instant};

use streamlog::wire::ErrorCode;
use streamlog::wire::metadata::MetadataRequest;

use super::three_nodes::{PATIENCE, ThreeNodes};
use crate::support::{TOPIC, batch};

#[test]
fn a_paused_node_answers_when_its_pause_is_over() {
    let cluster = ThreeNodes::start(&[]);
    let mut connection = cluster.connect(0);
    let begin = Instant::now();
    cluster.pause(0, Duration::from_millis(500)).unwrap();
    assert!(cluster.is_running(0).unwrap());
    connection.send(9, &MetadataRequest::default()).unwrap();
    let mut another = cluster.connect(0);
    another.send(9, &MetadataRequest::default()).unwrap();
    connection.receive::<MetadataRequest>(9).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(500), "{:?}", begin.elapsed());
    another.receive::<MetadataRequest>(9).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
}

#[test]
fn a_pause_can_be_ended_early_and_prolonged() {
    let cluster = ThreeNodes::start(&[]);
    let mut connection = cluster.connect(1);
    cluster.pause(1, Duration::from_mins(5)).unwrap();
    connection.send(9, &MetadataRequest::default()).unwrap();
    assert!(connection.is_silent_for(Duration::from_millis(100)));
    cluster.resume(1).unwrap();
    connection.receive::<MetadataRequest>(9).unwrap();

    cluster.pause(1, Duration::from_millis(10)).unwrap();
    cluster.pause(1, Duration::from_mins(5)).unwrap();
    connection.send(9, &MetadataRequest::default()).unwrap();
    assert!(connection.is_silent_for(Duration::from_millis(200)));
    cluster.resume(1).unwrap();
    connection.receive::<MetadataRequest>(9).unwrap();
}

#[test]
fn a_leader_that_returns_from_a_long_pause_leads_no_more() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    cluster.store(1);
    let leader = cluster.leading();
    let mut late = cluster.connect(leader);
    cluster.pause(leader, Duration::from_mins(5)).unwrap();
    // Two requests that wait at the zombie: it must acknowledge the one no more than the other.
    late.send_batch(batch([13]), 1).unwrap();
    late.send_batch(batch([14]), -1).unwrap();
    cluster.leading_after(leader);
    cluster.store(2);
    cluster.resume(leader).unwrap();
    for _ in 0..2 {
        match late.receive_offset() {
            Ok(Ok(offset)) => panic!("a zombie has acknowledged offset {offset}"),
            Ok(Err(ErrorCode::NotLeaderOrFollower)) | Err(_) => {}
            Ok(Err(other)) => panic!("{other:?}"),
        }
    }
    cluster.wait_in_sync(PATIENCE).unwrap();
    assert_eq!(cluster.stored(TOPIC), [1, 2]);
}

#[test]
fn a_short_pause_ends_no_session() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "60000")]);
    let leader = cluster.leading();
    let mut connection = cluster.connect(leader);
    cluster.pause(leader, Duration::from_millis(300)).unwrap();
    assert_eq!(connection.produce(batch([1]), -1).unwrap(), Ok(0));
    assert_eq!(cluster.leading(), leader);
}

#[test]
fn a_paused_node_can_be_killed_and_stopped() {
    let cluster = ThreeNodes::start(&[]);
    cluster.store(1);
    cluster.pause(2, Duration::from_mins(5)).unwrap();
    cluster.kill(2).unwrap();
    cluster.start_node(2).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
    cluster.pause(2, Duration::from_mins(5)).unwrap();
    cluster.stop(2).unwrap();
    cluster.start_node(2).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
    assert_eq!(cluster.stored(TOPIC), [1]);
}
