//! The controller's decisions, tested without a store: from an image to operations to the next
//! image.

use proptest::prelude::*;

use crate::metadata::controller::plan;
use crate::metadata::image::{Image, Listener, PartitionState, Registration};
use crate::metadata::image_builder::ImageBuilder;
use crate::metadata::layout::NodePath;
use crate::metadata::values::{
    ConfigValue, TombstoneValue, TopicValue, encode, encode_broker, encode_state,
};
use crate::metadata::{Configs, Incarnation, IsrMember, Node, Op};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};

/// A simulated cluster of nodes.
#[derive(Default)]
struct Cluster {
    builder: ImageBuilder,
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
        let listener = Listener {
            name: "PLAINTEXT".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 9092,
            security_protocol: "PLAINTEXT".to_owned(),
        };
        let registration = Registration { listeners: vec![listener], ..Registration::default() };
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

    /// Executes one plan and returns the number of groups.
    fn settle(&mut self) -> usize {
        let image = self.builder.build();
        let groups: Vec<_> = plan(&image, 9).collect();
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
    let image = cluster.image();
    let groups: Vec<_> = plan(&image, 9).collect();
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

proptest! {
    /// Brokers stop and return in any order between any states of one partition.
    #[test]
    fn an_election_is_final_and_raises_the_epoch_and_keeps_to_the_in_sync_set(
        lives in prop::collection::vec(prop::option::of(0_i64..3), 4),
        members in prop::collection::btree_map(0_i32..4, 0_i64..3, 0..4),
        led_by in 0_usize..5,
    ) {
        let mut cluster = Cluster::default();
        for (id, life) in (0..).zip(&lives) {
            if let Some(incarnation) = life {
                cluster.broker(id, *incarnation);
            }
        }
        cluster.topic(&[&[2, 0, 3, 1]]);
        let isr_before: Vec<IsrMember> = members
            .iter()
            .map(|(id, life)| IsrMember { broker: BrokerId(*id), incarnation: Incarnation(*life) })
            .collect();
        let leader = isr_before.get(led_by);
        let before = PartitionState {
            leader: leader.map(|leader| leader.broker),
            leader_incarnation: leader.map_or(Incarnation::UNKNOWN, |leader| leader.incarnation),
            leader_epoch: LeaderEpoch(5),
            isr: isr_before.clone(),
            version: 7,
            extra: serde_json::Map::new(),
        };
        let place = NodePath::PartitionState(name(), PartitionIndex(0));
        cluster.put(&place, encode_state(&before, 1), 7, 1);
        let changed = cluster.settle() > 0;
        let after = cluster.state(0);
        prop_assert_eq!(after.leader_epoch, LeaderEpoch(if changed { 6 } else { 5 }));
        prop_assert_eq!(after.version, if changed { 8 } else { 7 });
        prop_assert!(!after.isr.is_empty() || isr_before.is_empty());
        for member in &after.isr {
            prop_assert!(members.contains_key(&member.broker.0), "{:?} joined", member);
        }
        let someone_lives = members.keys().any(|id| lives[usize::try_from(*id).unwrap()].is_some());
        prop_assert_eq!(after.leader.is_some(), someone_lives);
        if let Some(leader) = after.leader {
            let life = lives[usize::try_from(leader.0).unwrap()].map(Incarnation);
            prop_assert_eq!(life, Some(after.leader_incarnation));
            let member = IsrMember { broker: leader, incarnation: after.leader_incarnation };
            prop_assert!(after.isr.contains(&member));
        }
        prop_assert_eq!(cluster.settle(), 0, "a second election");
    }
}
