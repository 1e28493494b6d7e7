//! The elections that give up records, and those that are refused.

use super::cluster_tests::{Cluster, eligible, isr, leader, name};
use crate::metadata::MetadataConfig;
use crate::metadata::controller::{Basis, elect_unclean};
use crate::metadata::image::{Loss, PartitionState};
use crate::metadata::in_sync::{DecisionRefusal, UncleanRequest};
use crate::metadata::layout::NodePath;
use crate::metadata::values::encode_state;
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex};

const GIVEN_UP_FROM: Offset = Offset::new(7);

impl Cluster {
    /// The state after an election of a broker that gives up records.
    fn unclean(
        &mut self,
        broker: i32,
        accepts_two_leaders: bool,
    ) -> Result<PartitionState, DecisionRefusal> {
        let (image, config) = (self.image(), MetadataConfig::default());
        let basis =
            Basis { image: &image, settled: None, epoch: 1, config: &config, awaited: None };
        let topic = image.topic(&name()).unwrap();
        let (leader, given_up_from) = (BrokerId(broker), GIVEN_UP_FROM);
        let request = UncleanRequest { leader, given_up_from, accepts_two_leaders };
        elect_unclean(basis, (topic, PartitionIndex(0)), request)
    }

    /// Writes a state of the partition.
    fn put_state(&mut self, state: &PartitionState) {
        let path = NodePath::PartitionState(name(), PartitionIndex(0));
        self.put(&path, encode_state(state), state.version + 1, 100);
    }
}

/// Brokers 1 to 3 with replicas of a partition; 1 leads it, and 3 has left the in-sync set.
fn without_the_third() -> Cluster {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(3);
    cluster.settle();
    cluster.broker(3, 31);
    cluster.settle();
    assert_eq!(isr(&cluster.state(0)), [(1, 10), (2, 20)]);
    cluster
}

#[test]
fn a_replica_that_lacks_records_is_elected_on_request_if_nobody_else_can_lead() {
    let mut cluster = without_the_third();
    cluster.broker_gone(2);
    cluster.settle();
    cluster.broker_gone(1);
    cluster.settle();
    cluster.ended(1, 10);
    let before = cluster.state(0);
    assert_eq!((leader(&before), eligible(&before)), (None, vec![(2, "d2")]));

    let after = cluster.unclean(3, false).unwrap();
    assert_eq!((leader(&after), isr(&after)), (Some((3, 31)), vec![(3, 31)]));
    assert_eq!(after.leader_epoch, LeaderEpoch(before.leader_epoch.0 + 1));
    assert_eq!(eligible(&after), [], "they hold records that are given up");
    cluster.put_state(&after);
    cluster.broker(1, 11);
    cluster.broker(2, 21);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((3, 31)), vec![(3, 31)]));
}

#[test]
fn each_accepted_loss_is_a_generation_that_later_states_keep() {
    let mut cluster = without_the_third();
    cluster.broker_gone(2);
    cluster.broker_gone(1);
    cluster.settle();
    cluster.ended(1, 10);
    cluster.ended(2, 20);
    let first = cluster.unclean(3, false).unwrap();
    let loss = |generation, leader_epoch| Loss { generation, leader_epoch, from: GIVEN_UP_FROM };
    assert_eq!(first.loss, Some(loss(1, first.leader_epoch)));
    cluster.put_state(&first);
    cluster.broker_gone(3);
    cluster.broker(2, 21);
    cluster.settle();
    assert_eq!(cluster.state(0).loss, first.loss);
    cluster.ended(3, 31);
    let second = cluster.unclean(2, false).unwrap();
    assert_eq!(second.loss, Some(loss(2, second.leader_epoch)));
}

#[test]
fn no_records_are_given_up_while_a_broker_runs_that_has_them() {
    let mut cluster = without_the_third();
    assert_eq!(cluster.unclean(3, false), Err(DecisionRefusal::Unneeded(BrokerId(1))));
    // The controller has yet to see that the leader has ended.
    cluster.broker_gone(1);
    assert_eq!(cluster.unclean(3, false), Err(DecisionRefusal::Unneeded(BrokerId(2))));
    cluster.settle();
    cluster.broker_gone(2);
    cluster.settle();
    // An eligible replica, or the last member, has returned.
    let topic = cluster.image().topic(&name()).unwrap().id;
    for (id, incarnation) in [(1, 11), (2, 21)] {
        cluster.broker_with_report((id, incarnation), topic, (0, 9, 9));
        assert_eq!(cluster.unclean(3, false), Err(DecisionRefusal::Unneeded(BrokerId(id))));
        cluster.broker_gone(id);
    }
    let may_live = DecisionRefusal::MayLive(BrokerId(2));
    assert_eq!(cluster.unclean(3, false), Err(may_live));
    cluster.ended(2, 21);
    assert!(cluster.unclean(3, false).is_ok());
}

#[test]
fn a_member_that_returned_without_its_data_cannot_lead_and_does_not_prevent_the_election() {
    let mut cluster = without_the_third();
    cluster.broker_gone(1);
    cluster.broker_gone(2);
    cluster.settle();
    cluster.broker_on(1, 11, "another");
    cluster.broker_on(2, 21, "another");
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None);
    // A registration with another disk proves nothing about the earlier process of the broker.
    let may_live = DecisionRefusal::MayLive(BrokerId(1));
    assert_eq!(cluster.unclean(1, false), Err(may_live));
    cluster.ended(1, 10);
    cluster.ended(2, 20);
    let after = cluster.unclean(1, false).unwrap();
    assert_eq!((leader(&after), isr(&after)), (Some((1, 11)), vec![(1, 11)]));
    assert!(cluster.unclean(3, false).is_ok());
}

#[test]
fn a_leader_that_may_be_alive_is_replaced_only_if_two_leaders_are_accepted() {
    let mut cluster = without_the_third();
    let after = cluster.unclean(3, true).unwrap();
    assert_eq!((leader(&after), isr(&after)), (Some((3, 31)), vec![(3, 31)]));
    assert_eq!(cluster.unclean(1, true), Err(DecisionRefusal::Unneeded(BrokerId(1))));
}

#[test]
fn the_end_of_a_session_does_not_prove_that_a_member_answers_nobody() {
    let mut cluster = without_the_third();
    cluster.broker_gone(1);
    cluster.broker_gone(2);
    cluster.settle();
    let members: Vec<_> = isr(&cluster.state(0));
    assert_eq!(members, [(1, 10), (2, 20)], "both may lead on without the store");
    for ended in [10, 20] {
        let (first, last) =
            (BrokerId(i32::try_from(ended / 10).unwrap()), cluster.unclean(3, true));
        assert!(last.is_ok(), "two leaders are accepted");
        assert_eq!(cluster.unclean(3, false), Err(DecisionRefusal::MayLive(first)));
        cluster.ended(first.0, ended - 1);
        assert_eq!(
            cluster.unclean(3, false),
            Err(DecisionRefusal::MayLive(first)),
            "an earlier one"
        );
        cluster.ended(first.0, ended);
    }
    assert!(cluster.unclean(3, false).is_ok());
}

#[test]
fn only_a_replica_that_runs_is_elected() {
    let mut cluster = without_the_third();
    cluster.broker(4, 40);
    cluster.broker_gone(3);
    for id in [3, 4, 5] {
        assert_eq!(cluster.unclean(id, true), Err(DecisionRefusal::NotAlive(BrokerId(id))));
    }
    let mut never_led = Cluster::default();
    never_led.topic(&[&[1]]);
    never_led.broker(1, 10);
    assert_eq!(never_led.unclean(1, true), Err(DecisionRefusal::NoState));
}

#[test]
fn the_minimum_of_the_partition_stays_and_follows_the_settings_afterwards() {
    let mut cluster = without_the_third();
    let minimum = cluster.state(0).minimum;
    let after = cluster.unclean(3, true).unwrap();
    assert_eq!(after.minimum, minimum);
    cluster.put_state(&after);
    cluster.set("min.insync.replicas", "1");
    cluster.settle();
    assert_eq!(cluster.state(0).minimum, Some(1));
}

#[test]
fn an_operator_ends_the_wait_for_replicas_that_may_have_more() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    // Before the wait is over, only those are in the way that may answer without the store.
    assert_eq!(cluster.unclean(1, false), Err(DecisionRefusal::MayLive(BrokerId(1))));
    (1..=3).for_each(|id| cluster.ended(id, i64::from(id) * 10));
    let early = cluster.unclean(1, false).unwrap();
    assert_eq!((leader(&early), eligible(&early)), (Some((1, 11)), vec![]));

    cluster.wait(0);
    cluster.wait(30);
    cluster.settle();
    assert!(cluster.state(0).unvouched.is_some());
    assert_eq!(cluster.unclean(2, false), Err(DecisionRefusal::NotAlive(BrokerId(2))));
    let late = cluster.unclean(1, false).unwrap();
    assert_eq!((leader(&late), late.unvouched), (Some((1, 11)), None));
    assert_eq!(eligible(&late), [], "what the others have is given up");
    // One that has returned is compared first.
    cluster.broker(3, 31);
    assert_eq!(cluster.unclean(1, false), Err(DecisionRefusal::Unneeded(BrokerId(3))));
}

#[test]
fn a_leader_that_stopped_and_reported_is_not_taken_for_one_that_may_answer() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    (1..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    cluster.wait(0);
    cluster.wait(30);
    cluster.settle();
    // Another knows of more committed records than both have.
    cluster.broker_with_report((2, 21), topic, (0, 8, 10));
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None);
    cluster.broker_with_report((2, 21), topic, (0, 8, 10));
    assert_eq!(cluster.unclean(2, false), Err(DecisionRefusal::Unneeded(BrokerId(1))));
    cluster.broker_with_report((1, 11), topic, (0, 9, 9));
    let after = cluster.unclean(1, false).unwrap();
    assert_eq!(leader(&after), Some((1, 11)));
}
