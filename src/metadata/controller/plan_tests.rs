//! The controller's decisions, tested without a store: from an image to operations to the next
//! image.

use super::cluster_tests::{Cluster, eligible, isr, leader, name, planned};
use crate::metadata::layout::NodePath;
use crate::metadata::values::{ConfigValue, TombstoneValue, encode};
use crate::metadata::{Configs, Op};
use crate::types::{LeaderEpoch, PartitionIndex};

#[test]
fn a_new_topic_is_led_by_its_first_live_replicas() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.broker(2, 20);
    cluster.topic(&[&[1, 2], &[2, 1], &[3, 1]]);
    assert_eq!(cluster.settle(), 4, "three states, and that they are made");
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10), (2, 20)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(0));
    assert_eq!(leader(&cluster.state(1)), Some((2, 20)));
    let state = cluster.state(2);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10)]));
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn an_unreadable_state_is_left_alone() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.topic(&[&[1], &[1]]);
    cluster.put(&NodePath::PartitionState(name(), PartitionIndex(0)), "{", 3, 5);
    assert_eq!(cluster.settle(), 2);
    assert!(cluster.image().broken().keys().any(|path| path.ends_with("/partitions/0/state")));
    assert_eq!(leader(&cluster.state(1)), Some((1, 10)));
}

#[test]
fn a_deleted_topic_loses_its_nodes_and_then_its_tombstone() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    let id = cluster.topic(&[&[1], &[1]]);
    cluster.put(&NodePath::TopicConfig(name()), encode(&ConfigValue::new(Configs::new())), 2, 1);
    cluster.settle();
    let tombstone = |pending| encode(&TombstoneValue::new("clicks", 2, pending, 0));
    cluster.put(&NodePath::DeletedTopic(id), tombstone(vec![1]), 0, 50);
    assert!(cluster.image().topic(&name()).is_none(), "a deleted topic is not shown");
    let groups = planned(&cluster.image(), None);
    let last: Vec<&str> = groups.last().unwrap().iter().map(Op::path).collect();
    let expected =
        ["/brokers/topics/clicks/partitions", "/config/topics/clicks", "/brokers/topics/clicks"];
    assert_eq!(last, expected);
    assert_eq!(cluster.settle(), 3);
    assert_eq!(cluster.settle(), 0, "data is left");
    cluster.put(&NodePath::DeletedTopic(id), tombstone(vec![]), 1, 50);
    assert_eq!(cluster.settle(), 1);
    assert_eq!(cluster.image().tombstones().count(), 0);
}

#[test]
fn the_minimum_is_that_of_the_state_and_follows_the_settings_while_there_is_a_leader() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3], &[1, 2]]);
    cluster.settle();
    assert_eq!((cluster.state(0).minimum, cluster.state(1).minimum), (Some(2), Some(1)));
    cluster.set("min.insync.replicas", "3");
    assert_eq!(cluster.settle(), 2);
    let state = cluster.state(0);
    assert_eq!((state.minimum, state.leader_epoch, state.version), (Some(3), LeaderEpoch(0), 1));
    assert_eq!(cluster.state(1).minimum, Some(2), "of two replicas no more than two are required");

    cluster.broker_gone(1);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [(1, "d1")]);
    cluster.broker_gone(2);
    cluster.broker_gone(3);
    cluster.settle();
    cluster.set("min.insync.replicas", "1");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((state.minimum, eligible(&state)), (Some(3), vec![(1, "d1")]), "nobody leads");
    let topic = cluster.image().topic(&name()).unwrap().id;
    for (id, incarnation) in [(1, 11), (2, 21), (3, 31)] {
        assert_eq!(leader(&cluster.state(0)), None, "the minimum was 3");
        cluster.broker_with_report((id, incarnation), topic, (0, 9 - i64::from(id), 0));
        cluster.settle();
    }
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.minimum), (Some((1, 11)), Some(1)));
    assert_eq!(eligible(&state), [], "the set has its minimum by the same write");
}

#[test]
fn settings_that_cannot_be_read_neither_lower_the_minimum_nor_let_an_eligible_replica_lead() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.set("min.insync.replicas", "3");
    cluster.settle();
    cluster.broker_gone(1);
    cluster.settle();
    for place in [NodePath::TopicConfig(name()), NodePath::BrokerConfig(None)] {
        cluster.put(&place, "{", 2, 1);
        cluster.settle();
        let state = cluster.state(0);
        assert_eq!((state.minimum, eligible(&state)), (Some(3), vec![(1, "d1")]), "{place}");
        cluster.set("min.insync.replicas", "3");
    }
    cluster.broker_gone(2);
    cluster.broker_gone(3);
    cluster.broker(1, 11);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "the topic may cache");
}
