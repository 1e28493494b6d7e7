//! The state of a group, and the checks shared by its operations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::member::Member;
use super::roster::Roster;
use crate::group::records::{GroupSnapshot, LogRecord};
use crate::group::step::Step;
use crate::group::{
    Claim, CommittedOffset, Generation, GroupError, GroupId, GroupState, InstanceId, MemberId,
};
use crate::types::{Timestamp, TopicPartition};

/// One classic group.
pub(in crate::group) struct Group {
    pub(super) id: GroupId,
    pub(super) phase: Phase,
    pub(super) generation: Generation,
    /// The protocol type of the last members; `None` if the group has only ever stored offsets.
    pub(super) protocol_type: Option<Arc<str>>,
    /// The protocol chosen in this generation; `None` while the group is empty.
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    pub(super) roster: Roster,
    /// Member ids assigned to newcomers that have not joined with them yet, and their deadlines.
    pub(super) pending: BTreeMap<MemberId, Duration>,
    /// The replicated offsets.
    pub(super) offsets: BTreeMap<TopicPartition, CommittedOffset>,
    /// The time at which the group entered its state, if known.
    pub(super) state_since: Option<Timestamp>,
    /// The deadline under which the coordinator has indexed the group.
    pub(in crate::group) indexed_deadline: Option<Duration>,
}

/// The state of the group, with the data that belongs to this state alone.
pub(super) enum Phase {
    Empty,
    Preparing {
        /// The time at which members that have not rejoined are removed.
        deadline: Duration,
        /// Set while a previously empty group waits for more members.
        initial: Option<Initial>,
    },
    Completing {
        /// The time at which members that have not sent `SyncGroup` are removed.
        sync_deadline: Duration,
        /// The proposed assignment, while it is being appended.
        proposal: Option<BTreeMap<MemberId, Bytes>>,
    },
    Stable {
        /// Like `sync_deadline` of `Completing`.
        sync_deadline: Duration,
    },
}

/// The initial rebalance delay: each delay in which a member joins is followed by another, until
/// the rebalance timeout is used up.
pub(super) struct Initial {
    /// The current delay.
    pub(super) delay: Duration,
    /// The time left after it.
    pub(super) remaining: Duration,
    /// True if a member joined during the delay.
    pub(super) grown: bool,
}

impl Group {
    /// Creates an empty group.
    pub(in crate::group) fn new(id: GroupId) -> Self {
        Self {
            id,
            phase: Phase::Empty,
            generation: Generation::default(),
            protocol_type: None,
            protocol: None,
            leader: None,
            roster: Roster::default(),
            pending: BTreeMap::new(),
            offsets: BTreeMap::new(),
            state_since: None,
            indexed_deadline: None,
        }
    }

    /// Restores the members from the log; offsets stay.
    pub(in crate::group) fn restore(&mut self, snapshot: GroupSnapshot) {
        self.generation = Generation(snapshot.generation.0.max(0));
        self.protocol_type = snapshot.protocol_type;
        self.protocol = snapshot.protocol;
        self.leader = snapshot.leader;
        self.state_since = snapshot.state_since;
        self.roster = Roster::default();
        for member in snapshot.members {
            let twin = member.instance_id.as_ref().and_then(|id| self.roster.of_instance(id));
            // The log is damaged in a way that no checksum found: keep the first of two members
            // with the same name.
            if twin.is_none() && self.roster.get(&member.id).is_none() {
                self.roster.insert(Member::restored(member, self.protocol.as_ref()));
            }
        }
        self.phase = if self.roster.is_empty() {
            Phase::Empty
        } else {
            Phase::Stable { sync_deadline: Duration::ZERO }
        };
    }

    /// Removes the members; offsets stay.
    pub(in crate::group) fn forget_members(&mut self) {
        let offsets = std::mem::take(&mut self.offsets);
        let indexed_deadline = self.indexed_deadline;
        *self = Self { offsets, indexed_deadline, ..Self::new(self.id.clone()) };
    }

    pub(in crate::group) fn state(&self) -> GroupState {
        match self.phase {
            Phase::Empty => GroupState::Empty,
            Phase::Preparing { .. } => GroupState::PreparingRebalance,
            Phase::Completing { .. } => GroupState::CompletingRebalance,
            Phase::Stable { .. } => GroupState::Stable,
        }
    }

    /// True if the group has neither members nor pending newcomers.
    pub(in crate::group) fn is_unused(&self) -> bool {
        matches!(self.phase, Phase::Empty) && self.pending.is_empty()
    }

    /// True if the group has no state worth keeping: no members, offsets or generation in the log.
    pub(in crate::group) fn is_blank(&self) -> bool {
        self.is_unused() && self.offsets.is_empty() && self.generation == Generation::default()
    }

    /// True if the members are consumers, whose metadata contains their subscription.
    pub(super) fn are_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some("consumer")
    }

    pub(super) fn enter(&mut self, phase: Phase, step: &Step) {
        self.phase = phase;
        self.state_since = Some(step.now.wall);
        assert_eq!(
            matches!(self.phase, Phase::Empty),
            self.roster.is_empty(),
            "group {} is {} with {} members",
            self.id,
            self.state(),
            self.roster.len()
        );
    }

    /// The member with this id, unless a later incarnation of the static member has replaced it.
    pub(super) fn member(
        &self,
        member_id: Option<&MemberId>,
        instance_id: Option<&InstanceId>,
    ) -> Result<&Member, GroupError> {
        if let Some(instance_id) = instance_id {
            let current = self.roster.of_instance(instance_id);
            if current.is_some() && current != member_id {
                return Err(GroupError::FencedInstanceId);
            }
            current.ok_or(GroupError::UnknownMemberId)?;
        }
        member_id.and_then(|id| self.roster.get(id)).ok_or(GroupError::UnknownMemberId)
    }

    /// The member identified by `claim`, if the claim has the current generation.
    pub(super) fn claimant(&mut self, claim: &Claim) -> Result<&mut Member, GroupError> {
        let id = self.member(claim.member_id.as_ref(), claim.instance_id.as_ref())?.id.clone();
        if claim.generation != self.generation {
            return Err(GroupError::IllegalGeneration {
                given: claim.generation,
                current: self.generation,
            });
        }
        self.roster.get_mut(&id).ok_or(GroupError::UnknownMemberId)
    }

    /// Removes a member and answers its pending request with `error`.
    pub(super) fn remove(&mut self, id: &MemberId, error: &GroupError, step: &mut Step) {
        if let Some(mut member) = self.roster.remove(id) {
            member.dismiss(error, step);
        }
        if self.leader.as_ref() == Some(id) {
            self.leader = None;
        }
    }

    /// The group as it is stored, each member with the assignment returned by `assignment_of`.
    pub(super) fn snapshot(&self, assignment_of: impl Fn(&Member) -> Bytes) -> LogRecord {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = self.roster.iter();
        LogRecord::Group {
            group: self.id.clone(),
            value: Some(GroupSnapshot {
                protocol_type: self.protocol_type.clone(),
                generation: self.generation,
                protocol: self.protocol.clone(),
                leader: self.leader.clone(),
                state_since: self.state_since,
                members: members.map(|m| m.snapshot(protocol, assignment_of(m))).collect(),
            }),
        }
    }

    /// The next deadline of the group.
    pub(in crate::group) fn next_deadline(&self) -> Option<Duration> {
        let phase = match self.phase {
            Phase::Empty => None,
            Phase::Preparing { deadline, .. } => Some(deadline),
            Phase::Completing { sync_deadline, .. } | Phase::Stable { sync_deadline } => {
                self.roster.iter().any(|member| member.sync_due).then_some(sync_deadline)
            }
        };
        let sessions = self.roster.iter().filter_map(Member::deadline);
        phase.into_iter().chain(sessions).chain(self.pending.values().copied()).min()
    }
}
