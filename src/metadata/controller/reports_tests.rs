//! Elections by the reports of replicas, after the end of all in-sync ones (rule R21).

use super::cluster_tests::{Cluster, eligible, isr, leader, name};
use crate::metadata::ElectionRule;
use crate::metadata::image::{Incarnation, IsrMember, LogReport, LogReports, PartitionState};
use crate::metadata::layout::NodePath;
use crate::metadata::values::encode_state;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId};

/// A cluster of three brokers, all in sync, whose sessions have ended.
fn outage(mut cluster: Cluster) -> (Cluster, TopicId) {
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.leader_epoch), (None, LeaderEpoch(1)));
    assert_eq!(isr(&state), [(1, 10), (2, 20), (3, 30)], "the last set is kept");
    (cluster, topic)
}

fn elected(cluster: &mut Cluster) -> Option<(i32, i64)> {
    cluster.settle();
    leader(&cluster.state(0))
}

#[test]
fn one_report_of_three_is_not_enough_and_two_elect_the_greatest_log() {
    let (mut cluster, topic) = outage(Cluster::default());
    cluster.broker_with_report((1, 11), topic, (0, 5, 5));
    assert_eq!(elected(&mut cluster), None);
    cluster.broker_with_report((3, 31), topic, (0, 9, 9));
    assert_eq!(elected(&mut cluster), Some((3, 31)));
    let state = cluster.state(0);
    assert_eq!(isr(&state), [(3, 31)], "the first lacks records");
    assert_eq!(eligible(&state), [(2, "d2")], "it has ended below what the third knows");
    assert_eq!(state.leader_epoch, LeaderEpoch(2));
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn the_later_epoch_is_greater_than_the_larger_offset() {
    let (mut cluster, topic) = outage(Cluster::default());
    cluster.broker_with_report((1, 11), topic, (0, 12, 5));
    cluster.broker_with_report((2, 21), topic, (1, 9, 5));
    assert_eq!(elected(&mut cluster), Some((2, 21)));
}

#[test]
fn replicas_with_the_same_end_are_in_sync_and_the_first_of_them_leads() {
    let (mut cluster, topic) = outage(Cluster::default());
    cluster.broker_with_report((2, 21), topic, (0, 9, 9));
    cluster.broker_with_report((3, 31), topic, (0, 9, 9));
    assert_eq!(elected(&mut cluster), Some((2, 21)));
    let state = cluster.state(0);
    assert_eq!((isr(&state), eligible(&state)), (vec![(2, 21), (3, 31)], vec![]));
}

#[test]
fn a_report_of_another_epoch_or_disk_or_of_a_replica_with_losses_does_not_count() {
    let (mut cluster, topic) = outage(Cluster::default());
    let id = (topic, PartitionIndex(0));
    let reports = |epoch| {
        let (last_epoch, offset) = (LeaderEpoch(0), Offset::new(9));
        let epoch = LeaderEpoch(epoch);
        LogReports::from([(id, LogReport { epoch, last_epoch, end: offset, floor: offset })])
    };
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    for (directory, lost, epoch) in
        [("new", [].into(), 1), ("d2", [id].into(), 1), ("d2", [].into(), 0)]
    {
        cluster.register((2, 21), directory, lost, reports(epoch));
        assert_eq!(elected(&mut cluster), None, "{directory} {epoch}");
    }
    let state = cluster.state(0);
    assert_eq!(isr(&state), [(1, 10), (2, 20), (3, 30)], "all still count as members");
    cluster.register((2, 21), "d2", [].into(), reports(1));
    assert_eq!(elected(&mut cluster), Some((1, 11)));
}

#[test]
fn nobody_leads_below_an_offset_that_was_committed_however_long_it_takes() {
    let (mut cluster, topic) = outage(Cluster::default());
    cluster.broker_with_report((1, 11), topic, (0, 9, 10));
    cluster.broker_with_report((2, 21), topic, (0, 9, 9));
    assert_eq!(elected(&mut cluster), None);
    cluster.wait(31);
    assert_eq!(elected(&mut cluster), None);
    cluster.broker_with_report((3, 31), topic, (0, 10, 9));
    assert_eq!(elected(&mut cluster), Some((3, 31)));
    assert_eq!(eligible(&cluster.state(0)), [], "both end below it");
}

#[test]
fn once_the_wait_is_over_the_greatest_log_of_those_that_have_returned_is_believed() {
    let (mut cluster, topic) = outage(Cluster::default());
    cluster.wait(20);
    cluster.broker_with_report((3, 31), topic, (0, 9, 9));
    assert_eq!(elected(&mut cluster), None);
    cluster.wait(9);
    assert_eq!(elected(&mut cluster), None);
    cluster.wait(1);
    assert_eq!(elected(&mut cluster), Some((3, 31)));
    let state = cluster.state(0);
    assert_eq!(isr(&state), [(3, 31)]);
    assert_eq!(eligible(&state), [(1, "d1"), (2, "d2")], "they may have more");
}

/// A cluster with a partition on all brokers, whose state an operator has rebuilt.
fn rebuilt(brokers: &[i32]) -> (Cluster, TopicId) {
    let mut cluster = Cluster::default();
    for id in brokers {
        cluster.broker(*id, i64::from(*id) * 10);
    }
    let topic = cluster.topic(&[brokers]);
    cluster.settle();
    let state = cluster.state(0);
    let stranger = |member: &IsrMember| IsrMember { incarnation: Incarnation::UNKNOWN, ..*member };
    let rebuilt = PartitionState {
        leader: None,
        leader_incarnation: Incarnation::UNKNOWN,
        leader_epoch: LeaderEpoch(1_000),
        isr: state.isr.iter().map(stranger).collect(),
        minimum: Some(brokers.len()),
        ..state
    };
    let path = NodePath::PartitionState(name(), PartitionIndex(0));
    cluster.put(&path, encode_state(&rebuilt), 0, 200);
    (cluster, topic)
}

#[test]
fn replicas_of_a_rebuilt_state_are_believed_only_once_all_have_reported() {
    let (mut cluster, topic) = rebuilt(&[1, 2, 3, 4, 5]);
    for (id, log) in [(1, (3, 12, 9)), (2, (3, 10, 9)), (3, (2, 9, 9)), (4, (2, 9, 9))] {
        cluster.broker_with_report((id, i64::from(id) * 10), topic, log);
        assert_eq!(elected(&mut cluster), None);
    }
    cluster.broker_with_report((5, 50), topic, (2, 9, 9));
    assert_eq!(elected(&mut cluster), Some((1, 10)));
    // The second had acknowledged records with it, and the others may lack them.
    cluster.broker_gone(1);
    cluster.broker_gone(2);
    assert_eq!(elected(&mut cluster), None);
    for id in 3..=5 {
        cluster.broker_with_report((id, i64::from(id) * 10), topic, (2, 9, 9));
        assert_eq!(elected(&mut cluster), None);
    }
    assert_eq!(elected_after_wait(&mut cluster), Some((3, 30)));
    assert!(cluster.state(0).unvouched.is_some(), "it may lack records");
    cluster.broker_with_report((2, 21), topic, (3, 10, 9));
    assert_eq!(elected(&mut cluster), None, "it has to report before one with more leads");
}

/// The leader after the wait, and after everything that follows from its election.
fn elected_after_wait(cluster: &mut Cluster) -> Option<(i32, i64)> {
    cluster.wait(0);
    cluster.wait(30);
    while cluster.settle() > 0 {}
    leader(&cluster.state(0))
}

#[test]
fn a_leader_of_a_rebuilt_state_is_not_believed_because_enough_have_the_same() {
    let (mut cluster, topic) = rebuilt(&[1, 2, 3]);
    let report = |cluster: &mut Cluster, id: i32| {
        let log = if id == 1 { (3, 12, 9) } else { (2, 9, 9) };
        cluster.broker_with_report((id, i64::from(id) * 10), topic, log);
    };
    (1..=3).for_each(|id| report(&mut cluster, id));
    assert_eq!(elected(&mut cluster), Some((1, 10)));
    assert_eq!(cluster.state(0).unvouched, None);
    cluster.broker_gone(1);
    assert_eq!(elected(&mut cluster), None);
    (2..=3).for_each(|id| report(&mut cluster, id));
    assert_eq!(elected_after_wait(&mut cluster), Some((2, 20)));
    let state = cluster.state(0);
    assert!(state.unvouched.is_some(), "the first may have more");
    assert_eq!((isr(&state).len(), state.minimum), (2, Some(3)), "no record is committed");
}

#[test]
fn committed_records_of_a_rebuilt_state_outlast_leaders_that_lack_them() {
    let (mut cluster, topic) = rebuilt(&[1, 2, 3, 4]);
    // The first and the last have committed the records below 11 in epoch 3.
    let logs = [(1, (3, 12, 9)), (2, (2, 15, 9)), (3, (2, 15, 9)), (4, (3, 11, 9))];
    let report = |cluster: &mut Cluster, id: i32, incarnation| {
        let (_, log) = logs.into_iter().find(|(of, _)| *of == id).unwrap();
        cluster.broker_with_report((id, incarnation), topic, log);
    };
    (1..=4).for_each(|id| report(&mut cluster, id, i64::from(id) * 10));
    assert_eq!(elected(&mut cluster), Some((1, 10)));
    (1..=4).for_each(|id| cluster.broker_gone(id));
    assert_eq!(elected(&mut cluster), None);
    (2..=3).for_each(|id| report(&mut cluster, id, i64::from(id) * 10 + 1));
    assert_eq!(elected_after_wait(&mut cluster), Some((2, 21)));
    assert_eq!(cluster.state(0).minimum, Some(4), "their high watermark stands still");
    report(&mut cluster, 4, 41);
    assert_eq!(elected(&mut cluster), None, "it has more");
    (2..=4).for_each(|id| report(&mut cluster, id, i64::from(id) * 10 + 1));
    assert_eq!(elected(&mut cluster), Some((4, 41)), "the wait was over before");
    assert!(cluster.state(0).unvouched.is_some(), "the first may have more");
    report(&mut cluster, 1, 11);
    assert_eq!(elected(&mut cluster), None);
    (1..=4).for_each(|id| report(&mut cluster, id, i64::from(id) * 10 + 1));
    while cluster.settle() > 0 {}
    let state = cluster.state(0);
    assert_eq!((leader(&state), state.unvouched), (Some((1, 11)), None));
    assert_eq!(state.minimum, Some(2));
}

#[test]
fn replicas_that_led_a_rebuilt_state_after_the_wait_are_not_taken_for_in_sync() {
    let (mut cluster, topic) = rebuilt(&[1, 2, 3, 4]);
    // The first two have committed records that the others lack. These return alone.
    (1..=2).for_each(|id| cluster.broker_gone(id));
    (3..=4).for_each(|id| cluster.broker_with_report((id, i64::from(id) * 10), topic, (2, 9, 9)));
    assert_eq!(elected(&mut cluster), None);
    cluster.wait(0);
    cluster.wait(30);
    assert_eq!(elected(&mut cluster), Some((3, 30)));
    (3..=4).for_each(|id| cluster.broker_gone(id));
    assert_eq!(elected(&mut cluster), None);
    cluster.broker_with_report((2, 21), topic, (3, 10, 9));
    assert_eq!(elected(&mut cluster), Some((2, 21)));
    let strangers = cluster.state(0).eligible.into_iter();
    let strangers = strangers.filter(|replica| replica.incarnation == Some(Incarnation::UNKNOWN));
    let strangers: Vec<i32> = strangers.map(|replica| replica.broker.0).collect();
    assert!(strangers.contains(&3) && strangers.contains(&4), "{strangers:?}");
}

#[test]
fn an_only_replica_and_an_only_member_lead_again_without_a_report() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.set("min.insync.replicas", "1");
    cluster.settle();
    (2..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_gone(1);
    assert_eq!(elected(&mut cluster), None);
    cluster.broker(2, 21);
    assert_eq!(elected(&mut cluster), None);
    cluster.broker(1, 11);
    assert_eq!(elected(&mut cluster), Some((1, 11)));
}

#[test]
fn each_rule_prevents_the_election_of_a_replica_that_lacks_records() {
    let (mut cluster, _) = outage(Cluster::without(ElectionRule::EndsAreCompared));
    cluster.broker(1, 11);
    assert_eq!(elected(&mut cluster), Some((1, 11)), "whoever returns first leads");

    let mut cluster = Cluster::without(ElectionRule::TwoReport);
    cluster.set("min.insync.replicas", "1");
    let (mut cluster, topic) = outage(cluster);
    cluster.broker_with_report((1, 11), topic, (-1, 0, 0));
    assert_eq!(elected(&mut cluster), Some((1, 11)), "one report is enough");

    let (mut cluster, topic) = outage(Cluster::without(ElectionRule::GreatestEnd));
    cluster.broker_with_report((1, 11), topic, (0, 5, 5));
    cluster.broker_with_report((2, 21), topic, (0, 9, 5));
    assert_eq!(elected(&mut cluster), Some((1, 11)), "the preferred one leads");

    let (mut cluster, topic) = outage(Cluster::without(ElectionRule::FloorExcludes));
    cluster.broker_with_report((1, 11), topic, (0, 8, 9));
    cluster.broker_with_report((2, 21), topic, (0, 8, 8));
    assert_eq!(elected(&mut cluster), Some((1, 11)), "below what it knows itself");

    let (mut cluster, topic) = {
        let mut cluster = Cluster::without(ElectionRule::LastSetIsKept);
        (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
        let topic = cluster.topic(&[&[1, 2, 3]]);
        cluster.settle();
        (1..=3).for_each(|id| cluster.broker_gone(id));
        cluster.broker_with_loss(2, 21, topic);
        cluster.broker_with_loss(3, 31, topic);
        cluster.settle();
        (cluster, topic)
    };
    cluster.broker_with_report((1, 11), topic, (-1, 0, 0));
    assert_eq!(elected(&mut cluster), Some((1, 11)), "alone in the set that is left");
}
