//! The decisions about in-sync sets and elections that are made in the metadata, one predicate
//! each. Nothing else in this layer makes them.
//!
//! The numbers of the rules are those of `docs/replication.md`. R7, R13 and R21 take several
//! predicates. The replicas' part in R3, R5 and R15 is in `replication/protocol/rules.rs`. Tests
//! switch off single rules that concern outages, to show the damage that each prevents.

use crate::metadata::image::{
    Broker, Caching, DirectoryId, Incarnation, IsrMember, KnownBroker, LogExtent, PartitionState,
    Registration,
};
use crate::metadata::in_sync::InSyncStateChange;
use crate::types::{BrokerId, Offset, PartitionIndex, TopicId};

/// A rule of elections that a test can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionRule {
    /// R14i: the eligible replicas of a partition that caches report too, and are waited for.
    EligibleReport,
    /// R21a: after the end of all in-sync replicas, the replicas report their logs before one of
    /// them leads.
    EndsAreCompared,
    /// R21b: an election needs the reports of two replicas, or of the minimum if that is more.
    TwoReport,
    /// R21c: the replica with the greatest log leads.
    GreatestEnd,
    /// R21d: a replica does not lead whose log ends below an offset known to be committed.
    FloorExcludes,
    /// R21g: without a leader, no replica leaves the in-sync or the eligible ones.
    LastSetIsKept,
    /// R21e: a leader that was elected after the wait gives way to a replica that returns with
    /// more.
    LateReturn,
    /// R26: a data directory without the token of its last registration is another disk.
    TokenShowsDisk,
    /// R27: the state of a partition that is missing was deleted, and is not made again.
    MissingIsDamage,
    /// R28: before a broker registers, it looks for what its disk has lost.
    LossIsLookedFor,
    /// R7: a broker that has lost the data of a partition is no member, and not elected.
    LostDataExcludes,
    /// R10: nobody from outside the in-sync and the eligible replicas is elected.
    NobodyElse,
    /// R13: the members that leave a set below its minimum stay eligible.
    LeaversStayEligible,
    /// R13f: the minimum of a partition changes only while it has a leader that is believed.
    MinimumAwaitsLeader,
}

/// The rules of elections in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionRules {
    /// A bit for each rule that is switched off.
    #[cfg(any(test, feature = "internals"))]
    off: u16,
}

impl ElectionRules {
    /// Every rule in force.
    pub const ALL: Self = Self {
        #[cfg(any(test, feature = "internals"))]
        off: 0,
    };

    /// These rules without `rule`.
    #[cfg(any(test, feature = "internals"))]
    #[must_use]
    pub const fn without(self, rule: ElectionRule) -> Self {
        Self { off: self.off | 1 << rule as u8 }
    }

    #[cfg(any(test, feature = "internals"))]
    const fn has(self, rule: ElectionRule) -> bool {
        self.off & 1 << rule as u8 == 0
    }

    #[cfg(not(any(test, feature = "internals")))]
    const fn has(self, _: ElectionRule) -> bool {
        true
    }

    /// R14i: returns true if the eligible replicas of a partition report before one leads.
    pub(in crate::metadata) fn asks_eligible(self, caching: Caching) -> bool {
        caching == Caching::Off || self.has(ElectionRule::EligibleReport)
    }

    /// R21a: returns true if replicas report their logs before one of them leads, after the end of
    /// all in-sync replicas.
    pub(in crate::metadata) const fn compares_ends(self) -> bool {
        self.has(ElectionRule::EndsAreCompared)
    }

    /// R21b: the number of sound reports that an election needs, before the wait is over, if
    /// `last_set` replicas were in sync or eligible.
    pub(in crate::metadata) fn reports_needed(self, minimum: usize, last_set: usize) -> usize {
        let least = if self.has(ElectionRule::TwoReport) { 2 } else { 1 };
        minimum.max(least).min(last_set)
    }

    /// R21c: returns true if a replica may lead although another has reported a greater log.
    pub(in crate::metadata) fn may_elect_lesser(self) -> bool {
        !self.has(ElectionRule::GreatestEnd)
    }

    /// R21d: returns true if a reported log reaches the greatest offset that any replica knows to
    /// be committed.
    pub(in crate::metadata) fn reaches(self, log: LogExtent, floor: Offset) -> bool {
        log.end >= floor || !self.has(ElectionRule::FloorExcludes)
    }

    /// R21e: returns true if a leader is not believed yet that was elected after the wait for
    /// others.
    pub(in crate::metadata) const fn awaits_returns(self) -> bool {
        self.has(ElectionRule::LateReturn)
    }

    /// R26: returns true if the data directory of this id, with these tokens, is not the one that
    /// registered last under the id of the broker.
    pub(crate) fn is_another_disk(
        self,
        known: &KnownBroker,
        directory_id: &str,
        tokens: &[String],
    ) -> bool {
        known.is_another_disk(directory_id, tokens) && self.has(ElectionRule::TokenShowsDisk)
    }

    /// R27: returns true if the controller makes the state of a partition that has none.
    pub(in crate::metadata) const fn may_make_state(self, is_new: bool) -> bool {
        is_new || !self.has(ElectionRule::MissingIsDamage)
    }

    /// R28: returns true if a broker looks for what its disk has lost, before it registers.
    pub(crate) const fn looks_for_losses(self) -> bool {
        self.has(ElectionRule::LossIsLookedFor)
    }

    /// R7: returns true if a registered broker lacks the data of a partition that it had in the
    /// data directory `recorded`: it has returned with another directory, or its disk has lost
    /// flushed records.
    pub(in crate::metadata) fn has_lost_data(
        self,
        recorded: Option<&DirectoryId>,
        registration: &Registration,
        partition: &(TopicId, PartitionIndex),
    ) -> bool {
        // Without a recorded directory, nothing proves a loss.
        let is_other = match (recorded, &registration.directory_id) {
            (Some(recorded), Some(now)) => **recorded != **now,
            _ => false,
        };
        let has_lost = registration.lost.contains(partition) || is_other;
        has_lost && self.has(ElectionRule::LostDataExcludes)
    }

    /// R10: returns true if a replica may be elected that is neither in sync nor eligible.
    pub(in crate::metadata) const fn may_elect_strangers(self) -> bool {
        !self.has(ElectionRule::NobodyElse)
    }

    /// R13: returns true if the members that leave an in-sync set stay eligible, because the set
    /// is below its minimum. The high watermark does not move then, so such a member holds all
    /// records below the watermark until the set has its minimum again.
    pub(in crate::metadata) const fn keeps_eligible(self, in_sync: usize, minimum: usize) -> bool {
        in_sync < minimum && self.has(ElectionRule::LeaversStayEligible)
    }

    /// R13f: returns true if the minimum of a partition may change, which requires that the
    /// partition has a leader, and one that is believed. Otherwise its eligible replicas may be
    /// needed, and a lower minimum would clear them.
    pub(in crate::metadata) const fn may_change_minimum(self, state: &PartitionState) -> bool {
        state.leader.is_some() && state.unvouched.is_none()
            || !self.has(ElectionRule::MinimumAwaitsLeader)
    }

    /// R21g: returns true if replicas may leave the in-sync and the eligible ones.
    pub(in crate::metadata) fn may_change_set(self, leader: Option<BrokerId>) -> bool {
        leader.is_some() || !self.has(ElectionRule::LastSetIsKept)
    }
}

/// Rule R3: returns true if a change was computed from this state, by the incarnation that leads in
/// it.
pub(in crate::metadata) fn is_current(
    state: &PartitionState,
    change: &InSyncStateChange,
    author: &IsrMember,
) -> bool {
    (state.created, state.version) == (change.created, change.version)
        && state.leader_epoch == change.leader_epoch
        && state.leader == Some(author.broker)
        && state.leader_incarnation == author.incarnation
}

/// Rule R15: returns true if a leader may hand over to this replica: an in-sync replica that has
/// not registered again. A leader that is not believed yet hands over to nobody (R21h).
pub(in crate::metadata) fn may_succeed(
    state: &PartitionState,
    successor: &IsrMember,
    registered: Option<&Broker>,
) -> bool {
    state.unvouched.is_none()
        && state.isr.contains(successor)
        && registered.is_some_and(|broker| broker.incarnation == successor.incarnation)
}

/// Rule R5: returns true if a replica may join as the incarnation that its leader has seen: that
/// incarnation must still be registered.
pub(in crate::metadata) fn may_join(seen: Incarnation, registered: Option<&Broker>) -> bool {
    registered.is_some_and(|broker| broker.incarnation == seen)
}

/// Rule R21h: returns true if a leader may have these members in sync after a change. A leader that
/// is not believed yet adds nobody: a replica from outside the last set knows nothing of the
/// records that the leader may lack.
pub(in crate::metadata) fn may_have_members(state: &PartitionState, members: &[IsrMember]) -> bool {
    state.unvouched.is_none() || members.iter().all(|member| state.isr.contains(member))
}

/// Rule R7: returns true if a replica that has lost records, now the incarnation `own` in the data
/// directory `directory`, can no longer be elected for the records that it had: it is neither a
/// member of the in-sync set nor eligible, or an operator has it lead without them. It may then
/// truncate its log to the records that are left.
pub(in crate::metadata) fn is_struck_out(
    state: &PartitionState,
    own: &IsrMember,
    directory: &str,
) -> bool {
    let is_it = |recorded: Option<&DirectoryId>| recorded.is_none_or(|id| **id == *directory);
    let mut members = state.isr.iter().filter(|member| member.broker == own.broker);
    let is_member = members.any(|member| is_it(state.directory_of(member)));
    let mut eligible = state.eligible.iter().filter(|replica| replica.broker == own.broker);
    leads_with_loss(state, own)
        || !is_member && !eligible.any(|replica| is_it(Some(&replica.directory)))
}

/// Returns true if a replica leads because an operator has accepted the loss of what it lacks.
pub(in crate::metadata) fn leads_with_loss(state: &PartitionState, member: &IsrMember) -> bool {
    state.leader == Some(member.broker)
        && state.leader_incarnation == member.incarnation
        && state.began_with_loss()
}

/// Rule R14: the caching of a state, given the setting of its topic, if that is known. The
/// controller never ends caching: only the leader knows what is flushed.
pub(in crate::metadata) fn caching_by_setting(caching: Caching, is_set: Option<bool>) -> Caching {
    match (caching, is_set) {
        (_, Some(true)) => Caching::On,
        (Caching::On, Some(false)) => Caching::Ending,
        (caching, _) => caching,
    }
}
