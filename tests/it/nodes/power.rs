//! Nodes that lose their power.

use std::time::Duration;

use super::three_nodes::{PATIENCE, ThreeNodes};
use crate::support::{Connection, TOPIC, batch};

#[test]
fn acknowledged_records_survive_the_power_failure_of_all_nodes() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    for number in 0..20 {
        cluster.store(number);
    }
    for node in 0..3 {
        cluster.lose_power(node).unwrap();
        assert!(!cluster.is_running(node).unwrap());
    }
    std::thread::scope(|scope| {
        for node in 0..3 {
            let cluster = &cluster;
            scope.spawn(move || cluster.start_node(node).unwrap());
        }
    });
    cluster.wait_in_sync(PATIENCE).unwrap();
    assert_eq!(cluster.stored(TOPIC), (0..20).collect::<Vec<_>>());
}

#[test]
fn another_node_leads_after_the_session_of_a_node_without_power() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    let leader = cluster.leading();
    cluster.lose_power(leader).unwrap();
    cluster.leading_after(leader);
    cluster.store(1);
}

#[test]
fn records_that_were_not_flushed_may_be_lost_with_the_power_and_not_with_the_process() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    // By default, each of these records is flushed right after its acknowledgement.
    let unflushed = [
        ("write.caching", "true"),
        ("flush.on.demand", "false"),
        ("flush.messages", "1000000"),
        ("flush.ms", "600000"),
    ];
    cluster.make_topic("cached", 1, &unflushed);
    let node = cluster.until(|| cluster.leader("cached", 0).unwrap());
    let mut known = Vec::new();
    let store = |known: &mut Vec<u64>| {
        let mut connection = Connection::open(cluster.address(node).unwrap()).unwrap();
        // Many pages: a single one mostly survives.
        for _ in 0..50 {
            connection.send_batch_to("cached", batch(0..200), 1).unwrap();
            connection.receive_offset().unwrap().unwrap();
            known.extend(0..200);
        }
    };
    store(&mut known);
    cluster.kill(node).unwrap();
    cluster.start_node(node).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
    assert_eq!(cluster.stored("cached"), known);

    // Any part may survive, so it may take several failures until one is noticed.
    let is_lost = (0..20).any(|_| {
        store(&mut known);
        cluster.lose_power(node).unwrap();
        cluster.start_node(node).unwrap();
        cluster.wait_in_sync(Duration::from_mins(1)).unwrap();
        let stored = cluster.stored("cached");
        assert!(known.starts_with(&stored), "{stored:?}");
        let is_lost = stored.len() < known.len();
        known = stored;
        is_lost
    });
    assert!(is_lost, "nothing is ever lost");
}
