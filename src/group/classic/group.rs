//! A group of three parts, which own their state: the current generation, the members, and the
//! committed offsets. The operations on it are in the files beside this one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::committed_offsets::CommittedOffsets;
use super::current_generation::{CurrentGeneration, Phase};
use super::member::Member;
use super::membership::Membership;
use crate::group::records::{GroupSnapshot, LogRecord};
use crate::group::step::Step;
use crate::group::{Claim, Generation, GroupError, GroupId, GroupState, MemberId};

/// One classic group.
pub(in crate::group) struct Group {
    pub(super) id: GroupId,
    pub(super) generation: CurrentGeneration,
    pub(super) members: Membership,
    pub(super) offsets: CommittedOffsets,
    /// The deadline under which the coordinator has indexed the group.
    pub(in crate::group) indexed_deadline: Option<Duration>,
}

impl Group {
    /// Creates an empty group.
    pub(in crate::group) fn new(id: GroupId) -> Self {
        Self {
            id,
            generation: CurrentGeneration::default(),
            members: Membership::default(),
            offsets: CommittedOffsets::default(),
            indexed_deadline: None,
        }
    }

    /// Restores the members from the log; offsets stay.
    pub(in crate::group) fn restore(&mut self, snapshot: GroupSnapshot) {
        let GroupSnapshot { protocol_type, generation, protocol, leader, state_since, members } =
            snapshot;
        self.members = Membership::restored(members, leader, protocol.as_ref());
        self.generation =
            CurrentGeneration::restored(generation, protocol_type, protocol, state_since);
        if !self.members.is_empty() {
            self.generation.restore_stable();
        }
    }

    /// Removes the members; offsets stay.
    pub(in crate::group) fn forget_members(&mut self) {
        let offsets = std::mem::take(&mut self.offsets);
        let indexed_deadline = self.indexed_deadline;
        *self = Self { offsets, indexed_deadline, ..Self::new(self.id.clone()) };
    }

    pub(in crate::group) fn state(&self) -> GroupState {
        self.generation.state()
    }

    /// True if the group has no members. Ids of newcomers, which may never join, do not count.
    pub(in crate::group) fn is_empty(&self) -> bool {
        self.generation.is_empty()
    }

    /// True if the group has neither members nor newcomers.
    pub(in crate::group) fn is_unused(&self) -> bool {
        self.generation.is_empty() && self.members.newcomers() == 0
    }

    /// True if the group has no state worth keeping: no members, offsets or generation in the log.
    pub(in crate::group) fn is_blank(&self) -> bool {
        self.is_unused()
            && self.offsets.is_empty()
            && self.generation.number() == Generation::default()
    }

    /// Enters another phase of the same generation.
    pub(super) fn enter(&mut self, phase: Phase, step: &Step) {
        self.generation.enter(phase, step.now.wall);
        self.require_consistent();
    }

    /// Begins the next generation.
    pub(super) fn begin(&mut self, protocol: Option<Arc<str>>, phase: Phase, step: &Step) {
        self.generation.begin(protocol, phase, step.now.wall);
        self.require_consistent();
    }

    fn require_consistent(&self) {
        assert_eq!(
            self.generation.is_empty(),
            self.members.is_empty(),
            "group {} is {} with {} members",
            self.id,
            self.generation.state(),
            self.members.len()
        );
    }

    /// The member identified by `claim`, if the claim has the current generation.
    pub(super) fn claimant(&mut self, claim: &Claim) -> Result<&mut Member, GroupError> {
        let id =
            self.members.find(claim.member_id.as_ref(), claim.instance_id.as_ref())?.id.clone();
        let current = self.generation.number();
        if claim.generation != current {
            return Err(GroupError::IllegalGeneration { given: claim.generation, current });
        }
        self.members.get_mut(&id).ok_or(GroupError::UnknownMemberId)
    }

    /// Removes a member and answers its pending request with `error`.
    pub(super) fn remove(&mut self, id: &MemberId, error: &GroupError, step: &mut Step) {
        if let Some(mut member) = self.members.remove(id) {
            member.dismiss(error, step);
        }
    }

    /// The group as it is stored, each member with the assignment returned by `assignment_of`.
    pub(super) fn snapshot(&self, assignment_of: impl Fn(&Member) -> Bytes) -> LogRecord {
        let protocol = self.generation.protocol();
        let name = protocol.map_or("", |name| &**name);
        let members = self.members.iter();
        LogRecord::Group {
            group: self.id.clone(),
            value: Some(GroupSnapshot {
                protocol_type: self.generation.protocol_type().cloned(),
                generation: self.generation.number(),
                protocol: protocol.cloned(),
                leader: self.members.leader().cloned(),
                state_since: self.generation.since(),
                members: members.map(|m| m.snapshot(name, assignment_of(m))).collect(),
            }),
        }
    }

    /// The next deadline of the group.
    pub(in crate::group) fn next_deadline(&self) -> Option<Duration> {
        let is_sync_due = self.members.iter().any(|member| member.sync_due);
        let phase = self.generation.deadline(is_sync_due);
        phase.into_iter().chain(self.members.next_deadline()).min()
    }
}
