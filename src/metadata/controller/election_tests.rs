//! Elections: the replicas that succeed a leader, and those that never do.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::cluster_tests::{Cluster, eligible, isr, leader, name};
use crate::metadata::image::{Caching, EligibleReplica, PartitionState};
use crate::metadata::in_sync::rules::is_struck_out;
use crate::metadata::layout::NodePath;
use crate::metadata::values::encode_state;
use crate::metadata::{ElectionRule, Incarnation, IsrMember};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex};

#[test]
fn a_lone_broker_that_restarts_leads_in_a_new_epoch() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.topic(&[&[1]]);
    cluster.settle();
    cluster.broker(1, 11);
    assert_eq!(cluster.settle(), 1);
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 11)), vec![(1, 11)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(1));
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn a_dead_leader_is_followed_by_the_next_in_sync_replica() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[2, 3, 1]]);
    cluster.settle();
    cluster.broker_gone(2);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((3, 30)), vec![(3, 30), (1, 10)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(1));
}

#[test]
fn a_follower_that_came_back_must_catch_up_again() {
    let mut cluster = Cluster::default();
    (1..=2).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2]]);
    cluster.settle();
    cluster.broker(2, 21);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(0), "what the leader has appended stays its own");
}

#[test]
fn nobody_from_outside_the_in_sync_set_is_elected_however_long_it_takes() {
    let mut cluster = Cluster::default();
    (1..=2).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2]]);
    cluster.settle();
    cluster.broker_gone(2);
    cluster.settle();
    cluster.broker(2, 21);
    cluster.broker_gone(1);
    assert_eq!(cluster.settle(), 1);
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 10)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(1));
    assert_eq!(cluster.settle(), 0, "one failure raises the epoch only once");

    cluster.broker(1, 11);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 11)), vec![(1, 11)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(2));
}

#[test]
fn an_eligible_replica_that_has_stayed_is_elected_at_once_if_no_member_lives() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(3);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [], "the set has its minimum");
    cluster.broker_gone(2);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [(2, "d2")]);
    // It had only been slow: its session goes on.
    cluster.broker(2, 20);
    cluster.settle();
    cluster.broker_gone(1);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((2, 20)), vec![(2, 20)]));
    assert_eq!(eligible(&state), [(1, "d1")]);
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn the_state_says_that_a_topic_caches_until_the_leader_says_otherwise() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    assert_eq!(cluster.state(0).caching, Caching::Off);
    cluster.set("write.caching", "true");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!(state.caching, Caching::On);
    assert_eq!(state.leader_epoch, LeaderEpoch(0), "nobody has to leave the epoch");
    cluster.set("write.caching", "false");
    cluster.settle();
    let caching = cluster.state(0).caching;
    assert_eq!(caching, Caching::Ending, "only the leader knows when it has ended");
    cluster.broker_gone(1);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((state.caching, leader(&state)), (Caching::Ending, Some((2, 20))));
    cluster.set("write.caching", "true");
    cluster.settle();
    assert_eq!(cluster.state(0).caching, Caching::On);
}

#[test]
fn an_in_sync_replica_is_preferred_to_an_eligible_one() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(1);
    cluster.broker_gone(2);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [(1, "d1"), (2, "d2")]);
    cluster.broker(1, 10);
    cluster.broker(3, 31);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(3, 30)]), "both report first");
    assert_eq!(eligible(&state), [(1, "d1"), (2, "d2")]);
}

#[test]
fn a_broker_on_another_data_directory_is_neither_in_sync_nor_eligible_nor_elected() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(3);
    cluster.broker_on(2, 21, "new");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10)]));
    assert_eq!(eligible(&state), [(3, "d3")]);
    cluster.broker_on(3, 31, "new");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), eligible(&state)), (Some((1, 10)), vec![]));
    assert_eq!(state.leader_epoch, LeaderEpoch(0), "the leader has stayed");
    // The last one returns without its data: nobody may lead, until the disk is there again.
    cluster.broker_on(1, 12, "new");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 10)]));
    assert_eq!(cluster.settle(), 0);
    cluster.broker(1, 13);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((1, 13)));
}

#[test]
fn a_lone_replica_that_crashed_leads_again_and_a_wiped_one_does_not() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.topic(&[&[1]]);
    cluster.settle();
    cluster.broker(1, 11);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((1, 11)));
    cluster.broker_on(1, 12, "new");
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), None);
}

#[test]
fn a_leader_that_has_lost_records_is_replaced_by_a_member_that_has_stayed() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    // It goes on as the incarnation that was elected.
    cluster.broker_with_loss(1, 10, topic);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((2, 20)), vec![(2, 20), (3, 30)]));
    assert_eq!(eligible(&state), []);
}

#[test]
fn the_last_member_that_has_lost_records_does_not_lead_even_when_it_has_forgotten_the_loss() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.set("min.insync.replicas", "1");
    cluster.settle();
    (2..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    assert_eq!(isr(&cluster.state(0)), [(1, 10)]);
    cluster.broker_with_loss(1, 11, topic);
    let own = IsrMember { broker: BrokerId(1), incarnation: Incarnation(11) };
    assert!(!is_struck_out(&cluster.state(0), &own, "d1"), "the controller has not seen it");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 10)]));
    assert!(is_struck_out(&state, &own, "d1"));
    for incarnation in [11, 12] {
        cluster.broker(1, incarnation);
        cluster.settle();
        assert_eq!(leader(&cluster.state(0)), None);
    }
}

#[test]
fn a_lossy_replica_is_struck_out_once_nothing_counts_on_what_it_held() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    let topic = cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(3);
    cluster.settle();
    let own = IsrMember { broker: BrokerId(2), incarnation: Incarnation(21) };
    let other = |state: &PartitionState| is_struck_out(state, &own, "d9");
    assert!(!is_struck_out(&cluster.state(0), &own, "d2"), "its old incarnation is in sync");
    assert!(other(&cluster.state(0)), "the records were on another disk");
    cluster.broker_gone(2);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [(2, "d2")]);
    assert!(!is_struck_out(&cluster.state(0), &own, "d2"), "it is eligible");
    cluster.broker_with_loss(2, 21, topic);
    cluster.settle();
    assert!(is_struck_out(&cluster.state(0), &own, "d2"));
}

/// Two replicas with this minimum, of which the first is alone in the in-sync set.
fn left_alone(mut cluster: Cluster, minimum: &str) -> Cluster {
    (1..=2).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2]]);
    cluster.set("min.insync.replicas", minimum);
    cluster.settle();
    cluster.broker_gone(2);
    cluster.settle();
    assert_eq!(isr(&cluster.state(0)), [(1, 10)]);
    cluster
}

#[test]
fn each_rule_prevents_the_election_of_a_replica_without_all_records_or_keeps_one_that_has_them() {
    let mut cluster = Cluster::without(ElectionRule::LostDataExcludes);
    cluster.broker(1, 10);
    cluster.topic(&[&[1]]);
    cluster.settle();
    cluster.broker_on(1, 11, "new");
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((1, 11)), "with an empty disk");

    let mut cluster = left_alone(Cluster::without(ElectionRule::NobodyElse), "1");
    cluster.broker(2, 21);
    cluster.broker_gone(1);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((2, 21)), "from outside the in-sync set");

    let mut cluster = left_alone(Cluster::without(ElectionRule::LeaversStayEligible), "2");
    assert_eq!(eligible(&cluster.state(0)), [], "the second holds all committed records, too");

    for (rule, left) in
        [(None, vec![(2, "d2")]), (Some(ElectionRule::MinimumAwaitsLeader), Vec::new())]
    {
        let mut cluster = left_alone(rule.map_or_else(Cluster::default, Cluster::without), "2");
        cluster.broker_gone(1);
        cluster.settle();
        cluster.set("min.insync.replicas", "1");
        cluster.settle();
        assert_eq!(eligible(&cluster.state(0)), left, "{rule:?}");
    }
}

/// A broker of a random cluster: its incarnation, and its data directory.
type Life = (i64, u8);

/// The replicas of a partition, and the brokers that are alive. None has reported its log.
#[derive(Debug)]
struct Case {
    lives: Vec<Option<Life>>,
    members: BTreeMap<i32, Life>,
    eligible: BTreeMap<i32, Life>,
    led_by: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let life = || (0_i64..3, 0_u8..2);
    let lives = prop::collection::vec(prop::option::of(life()), 4);
    let members = prop::collection::btree_map(0_i32..4, life(), 0..4);
    let eligible = prop::collection::btree_map(0_i32..4, life(), 0..4);
    (lives, members, eligible, 0_usize..5).prop_map(|(lives, mut members, mut eligible, led_by)| {
        for (id, (incarnation, directory)) in members.iter_mut().chain(&mut eligible) {
            // An incarnation has one directory for its whole life.
            if let Some((now, current)) = lives[usize::try_from(*id).unwrap()]
                && now == *incarnation
            {
                *directory = current;
            }
        }
        eligible.retain(|id, _| members.len() < 2 && !members.contains_key(id));
        Case { lives, members, eligible, led_by }
    })
}

fn directory(number: u8) -> String {
    format!("d{number}")
}

impl Case {
    fn life(&self, id: i32) -> Option<Life> {
        self.lives[usize::try_from(id).unwrap()]
    }

    /// The incarnation and the directory in which a replica has all records.
    fn recorded(&self, id: i32) -> Option<Life> {
        self.members.get(&id).or_else(|| self.eligible.get(&id)).copied()
    }

    /// True if the replica is alive with the data that it had.
    fn holds(&self, id: i32) -> bool {
        let recorded = self.recorded(id).map(|(_, directory)| directory);
        self.life(id).is_some_and(|(_, current)| recorded == Some(current))
    }

    /// True if the replica has been alive since it was in sync.
    fn stays(&self, id: i32) -> bool {
        self.life(id).is_some() && self.life(id) == self.recorded(id)
    }

    /// True if a replica can be elected without a comparison of logs.
    fn is_electable(&self) -> bool {
        let mut members = self.members.keys();
        let mut eligible = self.eligible.keys();
        let is_alone = self.members.len() == 1 && self.eligible.is_empty();
        self.members.keys().any(|id| self.stays(*id))
            || is_alone && members.clone().all(|id| self.holds(*id))
            || !members.any(|id| self.holds(*id)) && eligible.any(|id| self.stays(*id))
    }

    fn state(&self) -> PartitionState {
        let member = |(id, (life, _)): (&i32, &Life)| IsrMember {
            broker: BrokerId(*id),
            incarnation: Incarnation(*life),
        };
        let isr: Vec<IsrMember> = self.members.iter().map(member).collect();
        let leader = isr.get(self.led_by);
        let eligible = |(id, (life, number)): (&i32, &Life)| EligibleReplica {
            broker: BrokerId(*id),
            directory: Arc::from(directory(*number)),
            incarnation: Some(Incarnation(*life)),
        };
        PartitionState {
            leader: leader.map(|leader| leader.broker),
            leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
            leader_epoch: LeaderEpoch(5),
            directories: self.members.values().map(|life| Some(directory(life.1).into())).collect(),
            isr,
            eligible: self.eligible.iter().map(eligible).collect(),
            minimum: Some(2),
            damaged: Vec::new(),
            is_handed_over: false,
            loss: None,
            unvouched: None,
            caching: Caching::Off,
            caching_ended: None,
            created: 0,
            version: 7,
            controller_epoch: 1,
            extra: serde_json::Map::new(),
        }
    }

    fn cluster(&self) -> Cluster {
        let mut cluster = Cluster::default();
        for id in 0..4 {
            if let Some((incarnation, number)) = self.life(id) {
                cluster.broker_on(id, incarnation, &directory(number));
            }
        }
        cluster.topic(&[&[2, 0, 3, 1]]);
        cluster.put(&NodePath::Partitions(name()), "", 1, 1);
        let place = NodePath::PartitionState(name(), PartitionIndex(0));
        cluster.put(&place, encode_state(&self.state()), 7, 1);
        cluster
    }
}

proptest! {
    /// Brokers stop and return in any order, also with other disks, between any states of one
    /// partition.
    #[test]
    fn an_election_is_final_and_raises_the_epoch_and_keeps_to_replicas_with_all_records(
        case in cases(),
    ) {
        let (mut cluster, before) = (case.cluster(), case.state());
        let changed = cluster.settle() > 0;
        let after = cluster.state(0);
        let elected = after.leading() != before.leading();
        prop_assert_eq!(after.leader_epoch, LeaderEpoch(if elected { 6 } else { 5 }));
        prop_assert_eq!(after.version, if changed { 8 } else { 7 });
        prop_assert_eq!(after.leader.is_some(), case.is_electable());
        if let Some(leader) = after.leader {
            let life = case.life(leader.0).map(|(incarnation, _)| Incarnation(incarnation));
            prop_assert_eq!(life, Some(after.leader_incarnation));
            let member = IsrMember { broker: leader, incarnation: after.leader_incarnation };
            prop_assert!(after.isr.contains(&member));
            for member in &after.isr {
                prop_assert!(case.holds(member.broker.0), "{:?} lacks records", member);
            }
            for replica in &after.eligible {
                let id = replica.broker.0;
                let recorded = case.recorded(id).map(|(_, number)| directory(number));
                prop_assert_eq!(recorded.as_deref(), Some(&*replica.directory));
                prop_assert!(case.life(id).is_none() || case.holds(id), "{:?} is empty", replica);
            }
        } else {
            prop_assert_eq!(after.isr, before.isr);
            prop_assert_eq!(after.eligible, before.eligible, "the last set stays as it is");
        }
        prop_assert_eq!(cluster.settle(), 0, "a second election");
    }
}
