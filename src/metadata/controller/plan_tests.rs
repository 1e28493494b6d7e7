//! The controller's decisions, tested without a store: from an image to operations to the next
//! image.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::metadata::controller::{Basis, plan};
use crate::metadata::image::{EligibleReplica, Image, Listener, PartitionState, Registration};
use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::layout::NodePath;
use crate::metadata::values::{
    ConfigValue, TombstoneValue, TopicValue, encode, encode_broker, encode_state,
};
use crate::metadata::{Configs, Incarnation, IsrMember, MetadataConfig, Node, Op};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};

/// A simulated cluster of nodes.
#[derive(Default)]
struct Cluster {
    builder: ImageBuilder,
    /// The last image for which nothing was due.
    settled: Option<Image>,
}

impl Cluster {
    fn put(
        &mut self,
        place: &NodePath,
        value: impl Into<bytes::Bytes>,
        version: i32,
        created: i64,
    ) {
        let node = Node { value: value.into(), version, created, owner: None };
        self.builder.put(&place.to_string(), Some(&node));
    }

    fn broker(&mut self, id: i32, incarnation: i64) {
        self.broker_on(id, incarnation, &format!("d{id}"));
    }

    fn broker_on(&mut self, id: i32, incarnation: i64, directory: &str) {
        let listener = Listener {
            name: "PLAINTEXT".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 9092,
            security_protocol: "PLAINTEXT".to_owned(),
        };
        let registration = Registration {
            listeners: vec![listener],
            directory_id: Some(directory.to_owned()),
            ..Registration::default()
        };
        self.put(&NodePath::Broker(BrokerId(id)), encode_broker(&registration, 0), 0, incarnation);
    }

    fn broker_gone(&mut self, id: i32) {
        self.builder.put(&NodePath::Broker(BrokerId(id)).to_string(), None);
    }

    fn topic(&mut self, replicas: &[&[i32]]) -> TopicId {
        let assignment: Vec<Vec<BrokerId>> =
            replicas.iter().map(|ids| ids.iter().copied().map(BrokerId).collect()).collect();
        let id = TopicId::random();
        self.put(&NodePath::Topic(name()), encode(&TopicValue::new(id, &assignment)), 4, 1);
        id
    }

    fn set(&mut self, name: &str, value: &str) {
        let configs = [(name.to_owned(), value.to_owned())];
        let value = encode(&ConfigValue::new(Configs::from(configs)));
        self.put(&NodePath::TopicConfig(self::name()), value, 1, 1);
    }

    /// Executes one plan and returns the number of groups.
    fn settle(&mut self) -> usize {
        let image = self.builder.build();
        let groups = planned(&image, self.settled.as_ref());
        assert_eq!(
            groups,
            planned(&image, None),
            "a plan from what changed since {:?}",
            self.settled
        );
        if groups.is_empty() {
            self.settled = Some(image);
        }
        for op in groups.iter().flatten() {
            match op {
                Op::Create { path, value, .. } => {
                    let node = Node { value: value.clone(), version: 0, created: 100, owner: None };
                    self.builder.put(path, Some(&node));
                }
                Op::Set { path, value, version } => {
                    let node = Node {
                        value: value.clone(),
                        version: version + 1,
                        created: 100,
                        owner: None,
                    };
                    self.builder.put(path, Some(&node));
                }
                Op::Delete { path, .. } => self.builder.put(path, None),
                Op::Check { .. } => {}
            }
        }
        groups.len()
    }

    fn image(&mut self) -> Image {
        self.builder.build()
    }

    fn state(&mut self, partition: i32) -> PartitionState {
        let image = self.image();
        let partition = image.partition(&name(), PartitionIndex(partition)).unwrap();
        PartitionState::clone(partition.state.as_ref().unwrap())
    }
}

fn name() -> TopicName {
    "clicks".parse().unwrap()
}

fn planned(image: &Image, settled: Option<&Image>) -> Vec<Vec<Op>> {
    let config = MetadataConfig::default();
    plan(Basis { image, settled, epoch: 9, config: &config }).collect()
}

fn eligible(state: &PartitionState) -> Vec<(i32, &str)> {
    state.eligible.iter().map(|replica| (replica.broker.0, &*replica.directory)).collect()
}

fn isr(state: &PartitionState) -> Vec<(i32, i64)> {
    state.isr.iter().map(|member| (member.broker.0, member.incarnation.0)).collect()
}

fn leader(state: &PartitionState) -> Option<(i32, i64)> {
    state.leader.map(|leader| (leader.0, state.leader_incarnation.0))
}

#[test]
fn a_new_topic_is_led_by_its_first_live_replicas() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.broker(2, 20);
    cluster.topic(&[&[1, 2], &[2, 1], &[3, 1]]);
    assert_eq!(cluster.settle(), 3);
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10), (2, 20)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(0));
    assert_eq!(leader(&cluster.state(1)), Some((2, 20)));
    let state = cluster.state(2);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 10)), vec![(1, 10)]));
    assert_eq!(cluster.settle(), 0);
}

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
    assert_eq!(state.leader_epoch, LeaderEpoch(1));
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
    assert_eq!(state.leader_epoch, LeaderEpoch(2));
    assert_eq!(cluster.settle(), 0, "one failure raises the epoch only once");

    cluster.broker(1, 11);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((1, 11)), vec![(1, 11)]));
    assert_eq!(state.leader_epoch, LeaderEpoch(3));
}

#[test]
fn after_a_restart_of_all_brokers_the_first_to_return_lead() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    cluster.broker_gone(1);
    cluster.broker(2, 21);
    cluster.broker(3, 31);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((2, 21)), vec![(2, 21), (3, 31)]));
}

#[test]
fn an_unreadable_state_is_left_alone() {
    let mut cluster = Cluster::default();
    cluster.broker(1, 10);
    cluster.topic(&[&[1], &[1]]);
    cluster.put(&NodePath::PartitionState(name(), PartitionIndex(0)), "{", 3, 5);
    assert_eq!(cluster.settle(), 1);
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
fn a_replica_that_left_a_set_below_its_minimum_is_elected_if_no_member_lives() {
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
    cluster.broker_gone(1);
    cluster.broker(3, 31);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 10)]), "3 left before");
    cluster.broker(2, 21);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((2, 21)), vec![(2, 21)]));
    assert_eq!(eligible(&state), [(1, "d1")]);
    assert_eq!(cluster.settle(), 0);
}

#[test]
fn in_a_topic_that_caches_no_eligible_replica_is_elected() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.set("write.caching", "true");
    cluster.settle();
    (2..=3).for_each(|id| cluster.broker_gone(id));
    cluster.settle();
    cluster.broker_gone(1);
    cluster.broker(2, 21);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), eligible(&state)), (None, vec![(2, "d2"), (3, "d3")]));
    cluster.broker(1, 11);
    cluster.settle();
    assert_eq!(leader(&cluster.state(0)), Some((1, 11)));
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
    cluster.broker(1, 11);
    cluster.broker(3, 31);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (Some((3, 31)), vec![(3, 31)]));
    assert_eq!(eligible(&state), [(1, "d1"), (2, "d2")]);
}

#[test]
fn a_broker_on_another_data_directory_is_neither_in_sync_nor_eligible_nor_elected() {
    let mut cluster = Cluster::default();
    (1..=3).for_each(|id| cluster.broker(id, i64::from(id) * 10));
    cluster.topic(&[&[1, 2, 3]]);
    cluster.settle();
    // All at once: the sessions of the first two have ended, with the disk of the second.
    cluster.broker_gone(1);
    cluster.broker_on(2, 21, "new");
    cluster.broker_gone(3);
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 10), (3, 30)]));
    assert_eq!(eligible(&state), []);
    cluster.broker(1, 11);
    cluster.settle();
    assert_eq!(eligible(&cluster.state(0)), [(3, "d3")]);
    cluster.broker_on(3, 31, "new");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), eligible(&state)), (Some((1, 11)), vec![]));
    assert_eq!(state.leader_epoch, LeaderEpoch(2), "an eligible replica is struck out silently");
    // The last one returns without its data: nobody may lead, until the disk is there again.
    cluster.broker_on(1, 12, "new");
    cluster.settle();
    let state = cluster.state(0);
    assert_eq!((leader(&state), isr(&state)), (None, vec![(1, 11)]));
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
    cluster.broker(1, 11);
    cluster.settle();
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

/// A broker of a random cluster: its incarnation, and its data directory.
type Life = (i64, u8);

/// The replicas of a partition, and the brokers that are alive.
#[derive(Debug)]
struct Case {
    lives: Vec<Option<Life>>,
    members: BTreeMap<i32, Life>,
    eligible: BTreeMap<i32, u8>,
    led_by: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let life = || (0_i64..3, 0_u8..2);
    let lives = prop::collection::vec(prop::option::of(life()), 4);
    let members = prop::collection::btree_map(0_i32..4, life(), 0..4);
    let eligible = prop::collection::btree_map(0_i32..4, 0_u8..2, 0..4);
    (lives, members, eligible, 0_usize..5).prop_map(|(lives, mut members, mut eligible, led_by)| {
        for (id, (incarnation, directory)) in &mut members {
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

    /// The directory in which a replica has all records.
    fn recorded(&self, id: i32) -> Option<u8> {
        let member = self.members.get(&id).map(|(_, directory)| *directory);
        member.or_else(|| self.eligible.get(&id).copied())
    }

    /// True if the replica is alive and has all records.
    fn holds(&self, id: i32) -> bool {
        self.life(id).is_some_and(|(_, current)| self.recorded(id) == Some(current))
    }

    fn state(&self) -> PartitionState {
        let member = |(id, (life, _)): (&i32, &Life)| IsrMember {
            broker: BrokerId(*id),
            incarnation: Incarnation(*life),
        };
        let isr: Vec<IsrMember> = self.members.iter().map(member).collect();
        let leader = isr.get(self.led_by);
        let eligible = |(id, number): (&i32, &u8)| EligibleReplica {
            broker: BrokerId(*id),
            directory: Arc::from(directory(*number)),
        };
        PartitionState {
            leader: leader.map(|leader| leader.broker),
            leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
            leader_epoch: LeaderEpoch(5),
            directories: self.members.values().map(|life| Some(directory(life.1).into())).collect(),
            isr,
            eligible: self.eligible.iter().map(eligible).collect(),
            minimum: Some(2),
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
        let elected = after.leader != before.leader
            || after.leader_incarnation != before.leader_incarnation
            || after.isr != before.isr;
        prop_assert_eq!(after.leader_epoch, LeaderEpoch(if elected { 6 } else { 5 }));
        prop_assert_eq!(after.version, if changed { 8 } else { 7 });
        prop_assert!(!after.isr.is_empty() || before.isr.is_empty());
        let in_sync_lives = case.members.keys().any(|id| case.holds(*id));
        for member in &after.isr {
            let id = member.broker.0;
            let is_eligible = case.eligible.contains_key(&id) && !in_sync_lives;
            prop_assert!(case.members.contains_key(&id) || is_eligible, "{:?} joined", member);
            prop_assert!(after.leader.is_none() || case.holds(id), "{:?} lacks records", member);
        }
        let somebody_lives = in_sync_lives || case.eligible.keys().any(|id| case.holds(*id));
        prop_assert_eq!(after.leader.is_some(), somebody_lives);
        if let Some(leader) = after.leader {
            let life = case.life(leader.0).map(|(incarnation, _)| Incarnation(incarnation));
            prop_assert_eq!(life, Some(after.leader_incarnation));
            let member = IsrMember { broker: leader, incarnation: after.leader_incarnation };
            prop_assert!(after.isr.contains(&member));
        }
        prop_assert!(after.isr.len() < 2 || after.eligible.is_empty());
        for replica in &after.eligible {
            let id = replica.broker.0;
            let recorded = case.recorded(id).map(directory);
            prop_assert_eq!(recorded.as_deref(), Some(&*replica.directory));
            prop_assert!(case.life(id).is_none() || case.holds(id), "{:?} lost its data", replica);
        }
        prop_assert_eq!(cluster.settle(), 0, "a second election");
    }
}
