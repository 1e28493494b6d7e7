//! The current generation of a group: its number, its protocol, and its phase.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::group::step::Step;
use crate::group::{Generation, GroupState, MemberId, Synced};
use crate::types::Timestamp;

/// The current generation.
pub(super) struct CurrentGeneration {
    number: Generation,
    /// The protocol type of the last members; `None` if the group has only ever stored offsets.
    protocol_type: Option<Arc<str>>,
    /// The protocol chosen in this generation; `None` while the group is empty.
    protocol: Option<Arc<str>>,
    phase: Phase,
    /// The time at which the group entered its phase, if known.
    since: Option<Timestamp>,
}

/// The phase of a generation, with the data that belongs to this phase alone.
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
        proposal: Option<Assignments>,
    },
    Stable {
        /// The time at which members that have not sent `SyncGroup` are removed.
        sync_deadline: Duration,
    },
}

/// The assignment of each member.
pub(super) type Assignments = BTreeMap<MemberId, Bytes>;

/// The initial rebalance delay: each delay in which a member joins is followed by another, until
/// the rebalance timeout is used up.
pub(super) struct Initial {
    /// The current delay.
    delay: Duration,
    /// The time left after the current delay.
    remaining: Duration,
    /// True if a member joined during the delay.
    has_grown: bool,
}

/// A proposed assignment whose record is replicated, or lost.
pub(super) struct Proposal {
    /// The assignment of each member.
    pub(super) assignments: Assignments,
    /// The time at which members that have not sent `SyncGroup` are removed.
    pub(super) sync_deadline: Duration,
}

impl Default for CurrentGeneration {
    fn default() -> Self {
        Self {
            number: Generation::default(),
            protocol_type: None,
            protocol: None,
            phase: Phase::Empty,
            since: None,
        }
    }
}

impl Phase {
    /// The phase in which members join, for at most `timeout`. An empty group first waits for more
    /// members.
    pub(super) fn preparing(was_empty: bool, timeout: Duration, step: &Step) -> Self {
        if !was_empty {
            return Self::Preparing { deadline: step.after(timeout), initial: None };
        }
        let delay = step.config.initial_rebalance_delay;
        let remaining = timeout.saturating_sub(delay);
        let initial = Some(Initial { delay, remaining, has_grown: false });
        Self::Preparing { deadline: step.after(delay), initial }
    }
}

impl CurrentGeneration {
    /// Restores the generation of a group from the log, in the phase `Empty`. If the group has
    /// members, `restore_stable` must follow.
    pub(super) fn restored(
        number: Generation,
        protocol_type: Option<Arc<str>>,
        protocol: Option<Arc<str>>,
        since: Option<Timestamp>,
    ) -> Self {
        let number = Generation(number.0.max(0));
        Self { number, protocol_type, protocol, phase: Phase::Empty, since }
    }

    /// Declares a restored generation stable: its members have their assignments.
    pub(super) fn restore_stable(&mut self) {
        self.phase = Phase::Stable { sync_deadline: Duration::ZERO };
    }

    pub(super) fn number(&self) -> Generation {
        self.number
    }

    pub(super) fn protocol_type(&self) -> Option<&Arc<str>> {
        self.protocol_type.as_ref()
    }

    pub(super) fn protocol(&self) -> Option<&Arc<str>> {
        self.protocol.as_ref()
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The time at which the group entered its phase, if known.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    pub(super) fn state(&self) -> GroupState {
        match self.phase {
            Phase::Empty => GroupState::Empty,
            Phase::Preparing { .. } => GroupState::PreparingRebalance,
            Phase::Completing { .. } => GroupState::CompletingRebalance,
            Phase::Stable { .. } => GroupState::Stable,
        }
    }

    /// True if the group has no members.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.phase, Phase::Empty)
    }

    /// True if members join.
    pub(super) fn is_preparing(&self) -> bool {
        matches!(self.phase, Phase::Preparing { .. })
    }

    /// True if the members wait for their assignment.
    pub(super) fn is_completing(&self) -> bool {
        matches!(self.phase, Phase::Completing { .. })
    }

    /// True if the members have their assignments.
    pub(super) fn is_stable(&self) -> bool {
        matches!(self.phase, Phase::Stable { .. })
    }

    /// True if the members are consumers, whose metadata contains their subscription.
    pub(super) fn is_of_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some("consumer")
    }

    /// Takes over the protocol type of the first member.
    pub(super) fn set_protocol_type(&mut self, protocol_type: Arc<str>) {
        self.protocol_type = Some(protocol_type);
    }

    /// Enters another phase of the same generation.
    pub(super) fn enter(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.since = Some(now);
    }

    /// Begins the next generation, with a protocol unless the group is empty.
    pub(super) fn begin(&mut self, protocol: Option<Arc<str>>, phase: Phase, now: Timestamp) {
        self.number = self.number.next();
        self.protocol = protocol;
        self.enter(phase, now);
    }

    /// Notes that a member joined, which prolongs the initial rebalance delay.
    pub(super) fn note_growth(&mut self) {
        if let Phase::Preparing { initial: Some(initial), .. } = &mut self.phase {
            initial.has_grown = true;
        }
    }

    /// Prolongs the initial rebalance delay if members joined during it and time is left. Returns
    /// true if it did.
    pub(super) fn prolong_initial_delay(&mut self, step: &Step) -> bool {
        let Phase::Preparing { deadline, initial: Some(initial) } = &mut self.phase else {
            return false;
        };
        if !initial.has_grown || initial.remaining.is_zero() {
            return false;
        }
        let delay = step.config.initial_rebalance_delay.min(initial.remaining);
        let remaining = initial.remaining.saturating_sub(initial.delay);
        *initial = Initial { delay, remaining, has_grown: false };
        *deadline = step.after(delay);
        true
    }

    /// Gives the members until `until` to join, instead of the time set before.
    pub(super) fn postpone_join(&mut self, until: Duration) {
        if let Phase::Preparing { deadline, initial } = &mut self.phase {
            *deadline = until;
            *initial = None;
        }
    }

    /// Returns true if the group waits for the leader's assignment; false once it was proposed.
    pub(super) fn awaits_proposal(&self) -> bool {
        matches!(self.phase, Phase::Completing { proposal: None, .. })
    }

    /// Keeps the leader's assignment until its record is replicated.
    pub(super) fn propose(&mut self, assignments: Assignments) {
        if let Phase::Completing { proposal, .. } = &mut self.phase {
            *proposal = Some(assignments);
        }
    }

    /// Takes the proposal of a generation, if the group still waits for it.
    pub(super) fn take_proposal(&mut self, generation: Generation) -> Option<Proposal> {
        match &mut self.phase {
            Phase::Completing { sync_deadline, proposal } if self.number == generation => {
                Some(Proposal { assignments: proposal.take()?, sync_deadline: *sync_deadline })
            }
            _ => None,
        }
    }

    /// The answer to a `SyncGroup` request of a member with this assignment.
    pub(super) fn synced(&self, assignment: Bytes) -> Synced {
        let protocol_type = self.protocol_type.clone().unwrap_or_default();
        let protocol = self.protocol.clone().unwrap_or_default();
        Synced { protocol_type, protocol, assignment }
    }

    /// The deadline of the phase, if it has one. After the join it applies only to members that
    /// have not sent `SyncGroup`, so there is none unless `is_sync_due`.
    pub(super) fn deadline(&self, is_sync_due: bool) -> Option<Duration> {
        match self.phase {
            Phase::Empty => None,
            Phase::Preparing { deadline, .. } => Some(deadline),
            Phase::Completing { sync_deadline, .. } | Phase::Stable { sync_deadline } => {
                is_sync_due.then_some(sync_deadline)
            }
        }
    }
}
