//! A group: its state, and the questions every operation asks of it.

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
    /// Of the last members; `None` if the group has only ever stored offsets.
    pub(super) protocol_type: Option<Arc<str>>,
    /// Chosen in this generation; `None` while the group is empty.
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    pub(super) roster: Roster,
    /// Ids handed out to newcomers that have not come back with them, and until when they may.
    pub(super) pending: BTreeMap<MemberId, Duration>,
    /// As replicated.
    pub(super) offsets: BTreeMap<TopicPartition, CommittedOffset>,
    /// Since when the group is in its state, if it is known.
    pub(super) state_since: Option<Timestamp>,
    /// Under which deadline the coordinator has noted the group.
    pub(in crate::group) noted_deadline: Option<Duration>,
}

/// The state, with what belongs to it alone.
pub(super) enum Phase {
    Empty,
    Preparing {
        /// When those who have not joined are left behind.
        deadline: Duration,
        /// Set while a group that was empty waits for more members.
        initial: Option<Initial>,
    },
    Completing {
        /// When those who have not asked for their assignment are removed.
        sync_deadline: Duration,
        /// The assignment on its way to the log.
        proposal: Option<BTreeMap<MemberId, Bytes>>,
    },
    Stable {
        /// As above.
        sync_deadline: Duration,
    },
}

/// The patience of a first rebalance: each delay in which somebody comes earns another one, as long
/// as the rebalance timeout is not used up.
pub(super) struct Initial {
    /// The delay that runs.
    pub(super) delay: Duration,
    /// What is left after it.
    pub(super) remaining: Duration,
    /// Whether somebody came during it.
    pub(super) grown: bool,
}

impl Group {
    /// A group that knows nothing.
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
            noted_deadline: None,
        }
    }

    /// Takes over what the log says of the members; offsets stay.
    pub(in crate::group) fn restore(&mut self, snapshot: GroupSnapshot) {
        self.generation = Generation(snapshot.generation.0.max(0));
        self.protocol_type = snapshot.protocol_type;
        self.protocol = snapshot.protocol;
        self.leader = snapshot.leader;
        self.state_since = snapshot.state_since;
        self.roster = Roster::default();
        for member in snapshot.members {
            let twin = member.instance_id.as_ref().and_then(|id| self.roster.of_instance(id));
            // Damage that no checksum saw: of two members with one name, the first is kept.
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

    /// Forgets the members; offsets stay.
    pub(in crate::group) fn forget_members(&mut self) {
        let offsets = std::mem::take(&mut self.offsets);
        let noted_deadline = self.noted_deadline;
        *self = Self { offsets, noted_deadline, ..Self::new(self.id.clone()) };
    }

    pub(in crate::group) fn state(&self) -> GroupState {
        match self.phase {
            Phase::Empty => GroupState::Empty,
            Phase::Preparing { .. } => GroupState::PreparingRebalance,
            Phase::Completing { .. } => GroupState::CompletingRebalance,
            Phase::Stable { .. } => GroupState::Stable,
        }
    }

    /// Whether neither members nor newcomers keep the group in use.
    pub(in crate::group) fn is_unused(&self) -> bool {
        matches!(self.phase, Phase::Empty) && self.pending.is_empty()
    }

    /// Whether nothing would be lost with the group: it has left no trace in the log.
    pub(in crate::group) fn is_blank(&self) -> bool {
        self.is_unused() && self.offsets.is_empty() && self.generation == Generation::default()
    }

    /// Whether the members are consumers, whose metadata says what they subscribe to.
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

    /// The member of this id, if it is the present life of its static name.
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

    /// The member that `claim` names, if it speaks for this generation.
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

    /// Takes a member out; what it waits for is answered with `error`.
    pub(super) fn remove(&mut self, id: &MemberId, error: &GroupError, step: &mut Step) {
        if let Some(mut member) = self.roster.remove(id) {
            member.dismiss(error, step);
        }
        if self.leader.as_ref() == Some(id) {
            self.leader = None;
        }
    }

    /// The group as it is stored, each member with the assignment that `assignment_of` gives.
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

    /// The next moment at which time alone changes the group.
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
