//! Sessions with the metadata store that end, and a store that is lost.

use std::time::Duration;

use streamlog::wire::ErrorCode;

use super::three_nodes::{PATIENCE, ThreeNodes, store_at};
use crate::support::TOPIC;

#[test]
fn a_node_whose_session_has_expired_joins_again() {
    let cluster = ThreeNodes::start(&[]);
    for number in 0..3 {
        cluster.store(number);
        cluster.expire(cluster.leading()).unwrap();
        cluster.wait_in_sync(PATIENCE).unwrap();
    }
    assert_eq!(cluster.stored(TOPIC), [0, 1, 2]);
}

#[test]
fn nodes_go_on_without_the_store_and_in_their_sessions_afterwards() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    cluster.store(1);
    let leader = cluster.leading();
    cluster.lose_store(Duration::from_mins(5));
    // Without a lease, a leader goes on only while all replicas fetch from it.
    cluster.cut(leader, (leader + 1) % 3, false).unwrap();
    cluster.until(|| match store_at(cluster.connect(leader), 2).unwrap() {
        Ok(_) => None,
        Err(ErrorCode::NotLeaderOrFollower) => Some(()),
        Err(other) => panic!("{other:?}"),
    });
    cluster.heal();
    cluster.store(3);
    cluster.lose_store(Duration::from_millis(1));
    cluster.store(4);
    assert_eq!(cluster.leading(), leader);
    let stored = cluster.stored(TOPIC);
    assert_eq!((stored.first(), stored.last()), (Some(&1), Some(&4)), "{stored:?}");
}

#[test]
fn a_pause_ends_no_session_while_the_store_is_lost() {
    let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", "1000")]);
    let leader = cluster.leading();
    cluster.lose_store(Duration::from_millis(1500));
    cluster.pause(leader, Duration::from_millis(1500)).unwrap();
    cluster.store(1);
    assert_eq!(cluster.leading(), leader);
}

#[test]
fn a_node_that_starts_waits_for_the_store() {
    let cluster = ThreeNodes::start(&[]);
    cluster.kill(1).unwrap();
    cluster.lose_store(Duration::from_millis(300));
    cluster.start_node(1).unwrap();
    cluster.wait_in_sync(PATIENCE).unwrap();
}
