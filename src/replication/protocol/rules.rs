//! The decisions of the replication protocol that rules govern, one predicate each. Nothing else in
//! this layer makes them.
//!
//! A rule has the same number throughout the project, and a part of a rule has a letter too.
//! `docs/replication.md` lists the rules with the tests that fail without them. Rules about
//! elections and registrations (R7, R10, R13) belong to the controller, and so does its part in R3,
//! R5 and R15: `metadata/in_sync/rules.rs` has the predicates. R11, R12 and R17 are checks of
//! requests and of data. I14 and I15 are numbered like invariants. I14 keeps the invariant of
//! that number in `model/`; only this file defines I15.
//!
//! The product always follows all rules: its [`Rules`] has no field, and every check whether a rule
//! is in force is a constant. Tests switch off single rules, to show the damage that each prevents.

use std::time::Duration;

use crate::metadata::{Caching, Incarnation};
use crate::replication::protocol::{EpochHistory, FetchPosition, Floor};
use crate::types::{LeaderEpoch, Offset};

/// A rule that a test can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// R1: replicas report, and the leader counts, only what is flushed.
    FlushedCounts,
    /// R2a: the watermark waits for the committed in-sync set and for the set asked for.
    MaximalSet,
    /// R2b: the watermark moves only while the in-sync set has its minimum.
    MinimumHolds,
    /// R2c: while the outcome of a change is unknown, the set asked for counts too.
    UnknownStaysMaximal,
    /// R3: a write of the partition's state names the version that it was computed from.
    CompareAndSet,
    /// R4: a broker leads only as the incarnation that was elected.
    OwnIncarnation,
    /// R5: a member joins only as the incarnation whose fetch was seen.
    JoinByIncarnation,
    /// R8a: a follower truncates its log where the epochs diverge, not at its watermark.
    TruncateByEpoch,
    /// R8b: a fetch is answered, and its answer taken, in the same leader epoch only.
    FetchIsFenced,
    /// R9a: a joining member has stored all records below the watermark.
    JoinAtWatermark,
    /// R9b: a joining member has stored all records below the start of the epoch.
    JoinAtEpochStart,
    /// R14a: a partition counts as caching until all in-sync replicas have flushed what was shown.
    CachingEndsFlushed,
    /// R14b: records count before they are flushed only while the partition's state says that it
    /// caches.
    CachingRecorded,
    /// R14c: the floors of a partition are void while its state says that it caches.
    CachingVoidsFloors,
    /// R14d: caching does not end before the watermark has reached the start of the epoch.
    CachingEndsInEpoch,
    /// R14e: a leader that asks for the end of caching counts flushed records only.
    CachingEndsFirst,
    /// R14f: caching does not end while a replica outside the in-sync set may be elected.
    CachingEndsTogether,
    /// R14g: a joining member has flushed what was promised to survive the loss of power.
    JoinWithPromised,
    /// R15a: a leader that hands over stops answering before it asks the store.
    HandOverSilent,
    /// R15b: a leader that may have handed over does not answer until that is settled.
    HandOverUnknown,
    /// R15d: a successor has stored the leader's whole log, to which nothing is appended any more.
    HandOverAtEnd,
    /// R16: a follower truncates its log before it takes the leader's watermark.
    TruncateFirst,
    /// R18: a change of unknown outcome is settled by a later version, or by a read behind a sync.
    ReadBehindSync,
    /// I14: clients read from a new leader only once its watermark has reached the start of its
    /// epoch.
    ReadFromEpochStart,
    /// I15: a record is acknowledged only by the progress of the epoch that appended it.
    AcknowledgedInEpoch,
    /// R6a: without a lease, and without proof, a leader answers no client.
    AnsweredUnderLease,
    /// R6b: all members of the committed in-sync set and of the set asked for must give the proof.
    ProofByAll,
    /// R6c: proof counts from the answer that a fetch follows, not from the arrival of the fetch.
    ProofFromSending,
    /// R6d: a proof ends before the silence of a new leader ends.
    ProofEndsFirst,
    /// R6e: there is no proof while a replica outside the in-sync set may be elected.
    NoProofWithEligible,
    /// R6f: a new leader is silent, which means that it answers no client, until its earlier
    /// fetches prove nothing any more to other leaders.
    WaitForAsked,
    /// R6g: a broker that starts assumes that it has fetched from every other leader just before.
    RestartWaits,
    /// R6h: a silent leader neither grows the in-sync set nor hands over.
    WaitChangesNothing,
    /// R21f: a leader that is not believed yet appends nothing.
    UnvouchedAppendsNothing,
    /// R21h: a leader that is not believed yet adds no member, and hands over to nobody.
    UnvouchedChangesNothing,
    /// R21i: a leader that is not believed yet tells no reader where its records end.
    UnvouchedTellsNoEnd,
    /// R24: a follower removes no record below its floor, unless its log has lost records.
    FloorHolds,
    /// R24b: records that an operator has given up give no floor.
    LossEndsFloors,
    /// R25a: a leader whose log ends below a follower's floor has lost records.
    FloorAboveEnd,
    /// R25b: a leader from whose log one diverges below its floor has lost records.
    FloorAboveDivergence,
}

/// The time after the sending of an answer during which the next fetch of the same session is a
/// proof.
const PROOF: Duration = Duration::from_millis(1_500);
/// The time after a fetch during which a new leader is silent. It is longer than `PROOF`, since
/// clocks differ in speed.
const SILENCE: Duration = Duration::from_secs(2);

/// The version with which a write applies to any state, as in ZooKeeper.
const ANY_VERSION: i32 = -1;

/// The rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A bit for each rule that is switched off.
    #[cfg(any(test, feature = "internals"))]
    off: u64,
}

impl Rules {
    /// Every rule in force.
    pub const ALL: Self = Self {
        #[cfg(any(test, feature = "internals"))]
        off: 0,
    };

    /// These rules without `rule`.
    #[cfg(any(test, feature = "internals"))]
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self { off: self.off | 1 << rule as u64 }
    }

    #[cfg(any(test, feature = "internals"))]
    const fn has(self, rule: Rule) -> bool {
        self.off & 1 << rule as u64 == 0
    }

    #[cfg(not(any(test, feature = "internals")))]
    const fn has(self, _: Rule) -> bool {
        true
    }

    /// R1, R14b: returns true if records count before they are flushed.
    pub fn counts_unflushed(self, caching: Caching) -> bool {
        caching == Caching::On || !self.has(Rule::FlushedCounts)
    }

    /// R14b: the caching by which a replica counts, given that of its assignment, and the setting.
    pub(in crate::replication) fn assigned_caching(self, told: Caching, is_set: bool) -> Caching {
        if is_set && !self.has(Rule::CachingRecorded) { Caching::On } else { told }
    }

    /// R14b, R14e: the caching in which a leader counts, given that of its assignment. That
    /// `is_outdated` if this leader has changed the state since, and caching `may_end` by a change
    /// that it has asked for.
    pub(super) fn leader_caching(self, told: Caching, is_outdated: bool, may_end: bool) -> Caching {
        let is_doubtful = is_outdated && self.has(Rule::CachingRecorded)
            || may_end && self.has(Rule::CachingEndsFirst);
        if told == Caching::On && is_doubtful { Caching::Ending } else { told }
    }

    /// R14a, R14d, R14f: returns true if a partition need not count as caching any more, given the
    /// offset below which all members of the maximal in-sync set have flushed all records.
    pub(super) fn may_end_caching(
        self,
        flushed: Offset,
        high_watermark: Offset,
        epoch_start: Offset,
        has_eligible: bool,
    ) -> bool {
        (flushed >= high_watermark || !self.has(Rule::CachingEndsFlushed))
            && (high_watermark >= epoch_start || !self.has(Rule::CachingEndsInEpoch))
            && !(has_eligible && self.has(Rule::CachingEndsTogether))
    }

    /// R14c: returns true if the floors of a partition are void, because its disks may have lost
    /// records that others have flushed.
    pub(in crate::replication) fn voids_floors(self, caching: Caching, is_set: bool) -> bool {
        if self.has(Rule::CachingVoidsFloors) { caching != Caching::Off } else { is_set }
    }

    /// R14g: returns true if a replica that joins has flushed all records below `promised`. If it
    /// counts by what is flushed, R9 demands as much.
    pub(super) fn has_promised(self, flushed: Offset, promised: Offset, caching: Caching) -> bool {
        caching != Caching::On || flushed >= promised || !self.has(Rule::JoinWithPromised)
    }

    /// R2a: returns true if the watermark waits for members that have only been asked for.
    pub(super) const fn waits_for_pending(self) -> bool {
        self.has(Rule::MaximalSet)
    }

    /// R2b: returns true if the watermark may move with this many members in sync.
    pub(super) const fn has_minimum(self, in_sync: usize, minimum: usize) -> bool {
        in_sync >= minimum || !self.has(Rule::MinimumHolds)
    }

    /// R2c: returns true if a set asked for continues to count while the outcome is unknown.
    pub(super) const fn keeps_unknown(self) -> bool {
        self.has(Rule::UnknownStaysMaximal)
    }

    /// R3: the version that a write names, given the version that it was computed from.
    pub(super) const fn named_version(self, computed_from: i32) -> i32 {
        if self.has(Rule::CompareAndSet) { computed_from } else { ANY_VERSION }
    }

    /// R4: returns true if a broker may lead in an epoch for which `elected` was chosen.
    pub fn may_lead(self, elected: Incarnation, own: Incarnation) -> bool {
        elected == own && own != Incarnation::UNKNOWN || !self.has(Rule::OwnIncarnation)
    }

    /// R5: the incarnation as which a replica joins the in-sync set, if it may.
    pub(super) fn joining(
        self,
        fetched: Incarnation,
        registered: Option<Incarnation>,
    ) -> Option<Incarnation> {
        registered.filter(|known| *known == fetched || !self.has(Rule::JoinByIncarnation))
    }

    /// R6a: returns true if a leader may answer clients of a partition that another broker could
    /// lead.
    pub fn may_answer(self, is_leased: bool, is_proved: impl FnOnce() -> bool) -> bool {
        is_leased || is_proved() || !self.has(Rule::AnsweredUnderLease)
    }

    /// R6b: returns true if members that have only been asked for must give the proof too.
    pub(super) const fn needs_proof_of_pending(self) -> bool {
        self.has(Rule::ProofByAll)
    }

    /// R6c: the time until which a fetch is a proof. It arrives at `now`, after an answer sent at
    /// `answered`.
    pub(super) fn proved_until(self, answered: Option<Duration>, now: Duration) -> Duration {
        let from = if self.has(Rule::ProofFromSending) { answered } else { Some(now) };
        from.map_or(Duration::ZERO, |from| from.saturating_add(PROOF))
    }

    /// R6e: returns true if a proof by all members counts.
    pub(super) const fn may_be_proved(self, has_eligible: bool) -> bool {
        !has_eligible || !self.has(Rule::NoProofWithEligible)
    }

    /// R6d, R6f: the end of the silence after a fetch from another leader.
    pub(super) fn silent_after_asking(self, asked: Duration) -> Duration {
        let silence = if self.has(Rule::ProofEndsFirst) { SILENCE } else { PROOF / 2 };
        if self.has(Rule::WaitForAsked) { asked.saturating_add(silence) } else { Duration::ZERO }
    }

    /// R6g: the end of the silence after a start.
    pub(super) fn silent_after_start(self, start: Duration) -> Duration {
        if self.has(Rule::RestartWaits) { start.saturating_add(SILENCE) } else { Duration::ZERO }
    }

    /// R6h: returns true if a leader may grow the in-sync set and hand over.
    pub(super) fn may_change_leader(self, now: Duration, silent_until: Duration) -> bool {
        now >= silent_until || !self.has(Rule::WaitChangesNothing)
    }

    /// R8a: if the logs diverge, the leader's last epoch that is not above that of the follower,
    /// and its end.
    pub(super) fn divergence(
        self,
        leader: EpochHistory<'_>,
        follower: &FetchPosition,
    ) -> Option<(LeaderEpoch, Offset)> {
        let last_epoch = follower.last_epoch;
        if !self.has(Rule::TruncateByEpoch) {
            return (follower.offset > leader.end()).then(|| (last_epoch, leader.end()));
        }
        if last_epoch == LeaderEpoch::NONE {
            // An empty log agrees with any, unless it begins after the end of the leader's log.
            return (follower.offset > leader.end()).then(|| (last_epoch, leader.end()));
        }
        let (epoch, end) = leader.end_of(last_epoch);
        (epoch != last_epoch || end < follower.offset).then_some((epoch, end))
    }

    /// R8a: the offset at which a follower truncates, given where the leader's log diverges. A
    /// follower that lacks the leader's epoch goes back to the last lower one, and asks again.
    pub(super) fn truncation_point(
        self,
        follower: EpochHistory<'_>,
        (epoch, end): (LeaderEpoch, Offset),
    ) -> Offset {
        if self.has(Rule::TruncateByEpoch) { end.min(follower.end_of(epoch).1) } else { end }
    }

    /// R8a: the offset at which a follower truncates before its first fetch of an epoch.
    pub(super) fn truncation_in_new_epoch(self, high_watermark: Offset) -> Option<Offset> {
        (!self.has(Rule::TruncateByEpoch)).then_some(high_watermark)
    }

    /// R8b: returns true if a fetch of epoch `asked` concerns epoch `current`.
    pub fn is_same_epoch(self, asked: LeaderEpoch, current: LeaderEpoch) -> bool {
        asked == current || !self.has(Rule::FetchIsFenced)
    }

    /// R9: returns true if a replica has stored enough to join the in-sync set.
    pub(super) fn may_join(
        self,
        stored: Offset,
        high_watermark: Offset,
        epoch_start: Offset,
    ) -> bool {
        (stored >= high_watermark || !self.has(Rule::JoinAtWatermark))
            && (stored >= epoch_start || !self.has(Rule::JoinAtEpochStart))
    }

    /// R21f: returns true if a leader may append.
    pub(in crate::replication) const fn may_append(self, is_unvouched: bool) -> bool {
        self.permits(is_unvouched, Rule::UnvouchedAppendsNothing)
    }

    /// R21h: returns true if a leader may add a member, or hand over to one.
    pub(super) const fn may_empower(self, is_unvouched: bool) -> bool {
        self.permits(is_unvouched, Rule::UnvouchedChangesNothing)
    }

    /// R21i: returns true if a leader tells readers where its records end.
    pub(in crate::replication) const fn may_tell_end(self, is_unvouched: bool) -> bool {
        self.permits(is_unvouched, Rule::UnvouchedTellsNoEnd)
    }

    /// Returns true if a leader may do what `rule` forbids to one that is not believed yet.
    const fn permits(self, is_unvouched: bool, rule: Rule) -> bool {
        !is_unvouched || !self.has(rule)
    }

    /// R24: returns true if a follower whose log ends at `end` keeps it, where it should remove the
    /// records from `to` on.
    pub(super) fn keeps_log(self, to: Offset, end: Offset, floor: Offset) -> bool {
        to < floor && floor <= end && self.has(Rule::FloorHolds)
    }

    /// R24b: returns true if a log whose last record is of this epoch has a floor, where only
    /// records from `floor_epoch` on give one.
    pub(in crate::replication) fn has_floor(
        self,
        last_epoch: LeaderEpoch,
        floor_epoch: LeaderEpoch,
    ) -> bool {
        last_epoch >= floor_epoch || !self.has(Rule::LossEndsFloors)
    }

    /// R25: returns true if a follower's fetch shows that the log of its leader, which ends at
    /// `end`, has lost committed records.
    pub(super) fn has_lost_records(self, end: Offset, floor: Floor) -> bool {
        floor.offset > end && self.has(Rule::FloorAboveEnd)
            || floor.is_kept && self.has(Rule::FloorAboveDivergence)
    }

    /// R16: returns true if a follower takes the leader's watermark before it truncates its log.
    pub(super) const fn takes_watermark_first(self) -> bool {
        !self.has(Rule::TruncateFirst)
    }

    /// R15a: returns true if a leader is silent while the store is asked to replace it.
    pub(super) const fn is_silent_while_asking(self) -> bool {
        self.has(Rule::HandOverSilent)
    }

    /// R15b: returns true if a leader stays silent while it is unknown whether it was replaced.
    pub(super) const fn is_silent_while_unknown(self) -> bool {
        self.has(Rule::HandOverUnknown)
    }

    /// R15d: returns true if a replica that has stored all below `stored` may succeed a leader
    /// whose log ends at `log_end`.
    pub(super) fn may_succeed(self, stored: Offset, log_end: Offset) -> bool {
        stored >= log_end || !self.has(Rule::HandOverAtEnd)
    }

    /// R18: returns true if reading version `read` settles a change that named version `named`. A
    /// later version shows that the change has been applied or never will be. An unchanged one may
    /// come from a server of the store that lags, unless the read follows a sync.
    pub(super) fn settles(self, named: i32, read: i32, behind_sync: bool) -> bool {
        read > named || behind_sync || !self.has(Rule::ReadBehindSync)
    }

    /// I14: returns true if a leader may show its records and its watermark to clients.
    pub fn may_be_read(self, high_watermark: Offset, epoch_start: Offset) -> bool {
        high_watermark >= epoch_start || !self.has(Rule::ReadFromEpochStart)
    }

    /// I15: returns true if the progress of epoch `current` may acknowledge a record.
    pub fn may_acknowledge(self, appended_in: LeaderEpoch, current: LeaderEpoch) -> bool {
        appended_in == current || !self.has(Rule::AcknowledgedInEpoch)
    }
}
