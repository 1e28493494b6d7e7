//! Leaders that were elected after the wait, and replicas that return later (rule R21e).

use super::cluster_tests::{Cluster, eligible, isr, leader};
use crate::metadata::ElectionRule;
use crate::metadata::image::{Caching, Incarnation, IsrMember, LogExtent, PartitionState};
use crate::metadata::in_sync::rules;
use crate::types::{BrokerId, LeaderEpoch, Offset, TopicId};

fn extent(last_epoch: i32, end: i64) -> LogExtent {
    LogExtent { last_epoch: LeaderEpoch(last_epoch), end: Offset::new(end) }
}

/// Three brokers have ended, and broker 1 leads again after the wait, with nine records in epoch 0.
fn after_the_wait(mut cluster: Cluster) -> (Cluster, TopicId) {
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    cluster.wait(0);
    cluster.wait(30);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 11)), vec![(1, 11)]));
    assert_eq!(eligible(&state), [(2, "d2"), (3, "d3")]);
    (cluster, topic)
}

/// A broker returns with twelve records, and the leader so far stops and reports too.
fn returns_with_more(cluster: &mut Cluster, topic: TopicId, id: i32) {
    let returned = (id, i64::from(id) * 10 + 1);
    cluster.broker_with_report(returned, topic, (0, 12, 9));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "the leader has to stop first");
    cluster.wait(0);
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "the other has to report again");
    cluster.broker_with_report(returned, topic, (0, 12, 9));
    cluster.settle();
}

#[test]
fn a_leader_elected_after_the_wait_is_not_believed_until_a_second_replica_reports() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    let before = cluster.state(0);
    assert_eq!(before.unvouched, Some(extent(0, 9)));
    cluster.broker(2, 21);
    assert_eq!(cluster.settle(), 0, "it has not reported yet");
    cluster.broker_with_report((2, 21), topic, (0, 7, 7));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((1, 11)), None));
    assert_eq!(state.leader_epoch.0, before.leader_epoch.0 + 1);
    assert_eq!((isr(&state), eligible(&state)), (vec![(1, 11)], vec![(2, "d2"), (3, "d3")]));
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn a_replica_that_returns_with_the_same_log_is_in_sync() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_with_report((3, 31), topic, (0, 9, 9));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((1, 11)), None));
    assert_eq!((isr(&state), eligible(&state)), (vec![(1, 11), (3, 31)], vec![]));
}

#[test]
fn a_replica_that_returns_with_more_leads_and_the_leader_so_far_is_struck_out() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    returns_with_more(&mut cluster, topic, 3);
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((3, 31)), vec![(3, 31)]));
    assert_eq!((state.unvouched, eligible(&state)), (None, vec![(2, "d2")]));
    cluster.broker_gone(3);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "the leader so far has not stayed in sync");
}

#[test]
fn with_a_minimum_of_three_two_reports_change_the_leader_and_three_are_believed() {
    let mut cluster = Cluster::default();
    cluster.set("min.insync.replicas", "3");
    let (mut cluster, topic) = after_the_wait(cluster);
    returns_with_more(&mut cluster, topic, 2);
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((2, 21)), Some(extent(0, 12))));
    assert_eq!(eligible(&state), [(3, "d3")]);
    cluster.broker_with_report((3, 31), topic, (0, 10, 9));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((2, 21)), None));
}

#[test]
fn a_leader_below_an_offset_that_was_committed_stops_until_a_replica_has_it() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_with_report((2, 21), topic, (0, 8, 10));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!(leader(&state), None);
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    cluster.broker_with_report((2, 21), topic, (0, 8, 10));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "it has not stayed in sync");
    cluster.broker_with_report((3, 31), topic, (0, 10, 9));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((3, 31)));
}

#[test]
fn reports_of_a_lost_log_or_of_another_disk_do_not_count() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_on(2, 21, "another");
    cluster.broker_with_loss(3, 31, topic);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), eligible(&state)), (Some((1, 11)), vec![]));
    assert_eq!(state.unvouched, None, "nobody is left who may have more");
}

#[test]
fn the_leader_that_returns_is_compared_again_and_its_members_have_not_stayed() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_gone(1);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None);
    cluster.wait(0);
    cluster.broker(2, 21);
    cluster.broker_with_report((1, 12), topic, (0, 9, 9));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None, "the second has yet to report");
    cluster.broker_with_report((2, 21), topic, (0, 12, 9));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((2, 21)), None));
}

#[test]
fn a_leader_that_returns_alone_does_not_wait_once_more() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_gone(1);
    cluster.settle();
    cluster.wait(0);
    cluster.broker_with_report((1, 12), topic, (0, 9, 9));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((1, 12)), Some(extent(0, 9))));
}

#[test]
fn nobody_leads_in_place_of_a_leader_that_may_still_answer() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.broker_with_report((3, 31), topic, (0, 12, 9));
    cluster.settle();
    cluster.broker_with_report((3, 31), topic, (0, 12, 9));
    cluster.wait(0);
    for _ in 0..3 {
        cluster.settle();
        assert_eq!(leader(&cluster.state(0)), None, "the first is registered, and has not stopped");
        cluster.wait(31);
    }
    cluster.broker_gone(1);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((3, 31)));
}

#[test]
fn nobody_joins_a_leader_that_is_not_believed() {
    let (mut cluster, _) = after_the_wait(Cluster::default());
    let state = cluster.state(0);
    let stranger = IsrMember { broker: BrokerId(4), incarnation: Incarnation(40) };
    let with_stranger = [state.isr[0], stranger];
    assert!(!rules::may_have_members(&state, &with_stranger));
    assert!(rules::may_have_members(&state, &state.isr));
    let believed = PartitionState { unvouched: None, ..state };
    assert!(rules::may_have_members(&believed, &with_stranger));
}

#[test]
fn the_minimum_stays_until_the_leader_is_believed() {
    let (mut cluster, topic) = after_the_wait(Cluster::default());
    cluster.set("min.insync.replicas", "1");
    cluster.settle();
    assert_eq!(cluster.state(0).minimum, Some(2));
    assert_eq!(eligible(&cluster.state(0)), [(2, "d2"), (3, "d3")]);
    cluster.broker_with_report((2, 21), topic, (0, 9, 9));
    cluster.settle();
    cluster.settle();
    assert_eq!(cluster.state(0).minimum, Some(1));
}

#[test]
fn without_the_rule_the_leader_elected_after_the_wait_is_believed() {
    let (mut cluster, _) = after_the_wait(Cluster::without(ElectionRule::LateReturn));
    assert_eq!(cluster.state(0).unvouched, None);
}

#[test]
fn the_eligible_replicas_of_a_topic_that_caches_are_waited_for() {
    let mut cluster = Cluster::default();
    cluster.set("write.caching", "true");
    let (mut cluster, _) = after_the_wait(cluster);
    assert_eq!(cluster.state(0).caching, Caching::On);
    assert_ne!(cluster.state(0).unvouched, None);

    let mut cluster = Cluster::without(ElectionRule::EligibleReport);
    cluster.set("write.caching", "true");
    let (mut cluster, _) = after_the_wait(cluster);
    assert_eq!(cluster.state(0).unvouched, None, "records that only they have are lost");
}
