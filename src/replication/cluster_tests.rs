//! The simulated network and store of three brokers, for two tests with random schedules: that of
//! the protocol's state machines, and that of real partitions.

use std::time::Duration;

use super::InSyncState;
use crate::io::SeededRandom;
use crate::metadata::{Incarnation, IsrMember};
use crate::types::{BrokerId, LeaderEpoch};

pub(super) const BROKERS: usize = 3;
pub(super) const MINIMUM: usize = 2;
pub(super) const LAG_MAX: Duration = Duration::from_secs(10);

/// The messages that are under way.
#[derive(Debug)]
pub(super) struct Network<M> {
    sent: Vec<M>,
}

/// A version of the partition's state in the store.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) leader: usize,
    pub(super) incarnation: Incarnation,
    pub(super) epoch: LeaderEpoch,
    pub(super) members: Vec<IsrMember>,
    /// The former members that left the set below its minimum: each holds all records that readers
    /// have seen.
    pub(super) eligible: Vec<IsrMember>,
}

/// The store: all versions of the partition's state, of which the last one is in force.
#[derive(Debug)]
pub(super) struct PartitionStore {
    nodes: Vec<Node>,
}

impl<M> Network<M> {
    pub(super) fn new() -> Self {
        Self { sent: Vec::new() }
    }

    pub(super) fn send(&mut self, message: M) {
        self.sent.push(message);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.sent.clear();
    }

    /// Takes a random message to deliver, so that messages may be late. `None` if the message is
    /// lost or none is under way.
    pub(super) fn next(&mut self, random: &mut SeededRandom) -> Option<M> {
        if self.sent.is_empty() {
            return None;
        }
        let message = self.sent.swap_remove(random.index(self.sent.len()));
        (!random.chance(8)).then_some(message)
    }
}

impl Node {
    /// The first state of a partition that the first of its members leads.
    pub(super) fn led_by_first(members: Vec<IsrMember>) -> Self {
        Self {
            leader: place(members[0].broker),
            incarnation: members[0].incarnation,
            epoch: LeaderEpoch(0),
            members,
            eligible: Vec::new(),
        }
    }

    /// Changes the members, and remembers those that leave a set below its minimum.
    pub(super) fn change_to(&mut self, members: Vec<IsrMember>) {
        let before = std::mem::replace(&mut self.members, members);
        let is_out = |member: &IsrMember| self.members.iter().all(|m| m.broker != member.broker);
        self.eligible.extend(before.into_iter().filter(is_out));
        self.eligible.retain(is_out);
        if self.members.len() >= MINIMUM {
            self.eligible.clear();
        }
    }

    /// Lets a member lead in the next leader epoch.
    pub(super) fn elect(&mut self, elected: IsrMember) {
        (self.leader, self.incarnation) = (place(elected.broker), elected.incarnation);
        self.epoch = LeaderEpoch(self.epoch.0 + 1);
    }
}

impl PartitionStore {
    pub(super) fn of(first: Node) -> Self {
        Self { nodes: vec![first] }
    }

    /// The state in force.
    pub(super) fn node(&self) -> &Node {
        self.nodes.last().unwrap()
    }

    /// The version of the state in force.
    pub(super) fn version(&self) -> i32 {
        i32::try_from(self.nodes.len() - 1).unwrap()
    }

    /// The state of an earlier version, if there is one.
    pub(super) fn node_at(&self, version: i32) -> Option<&Node> {
        usize::try_from(version).ok().map(|version| &self.nodes[version])
    }

    /// The part of the state of a version that a leader uses.
    pub(super) fn in_sync_at(&self, version: i32) -> Option<InSyncState> {
        let members = self.node_at(version)?.members.clone();
        Some(InSyncState {
            members,
            minimum: MINIMUM,
            has_eligible: false,
            is_unvouched: false,
            version,
        })
    }

    /// The part of the state in force that a leader uses.
    pub(super) fn in_sync(&self) -> InSyncState {
        self.in_sync_at(self.version()).unwrap()
    }

    /// Puts another state in force.
    pub(super) fn write(&mut self, next: Node) {
        self.nodes.push(next);
    }
}

pub(super) fn name(id: usize) -> BrokerId {
    BrokerId(i32::try_from(id).unwrap())
}

pub(super) fn place(broker: BrokerId) -> usize {
    usize::try_from(broker.0).unwrap()
}
