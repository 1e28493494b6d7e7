//! The rules of replication: each is one predicate, and is decided nowhere else.
//!
//! They keep their numbers throughout the project. A part of a rule has a letter. Rules about
//! elections and registrations (R7, R10, R13) are the controller's; R11, R12 and R17 are checks of
//! requests and of data.
//!
//! The product always follows all of them: there [`Rules`] has no content, and every test of a rule
//! is a constant. Tests switch off single rules, to show the damage that each prevents.

use crate::metadata::Incarnation;
use crate::replication::protocol::{EpochHistory, FetchPosition};
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
    /// I14: a new leader is read only once its watermark has reached the start of its epoch.
    ReadFromEpochStart,
    /// I15: a record is acknowledged only in the leader epoch that appended it.
    AcknowledgedInEpoch,
    /// R6a: a leader answers clients only while its lease lasts.
    AnsweredUnderLease,
}

/// The version with which a write applies to any state, as in ZooKeeper.
const ANY_VERSION: i32 = -1;

/// The rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A bit for each rule that is switched off.
    #[cfg(any(test, feature = "internals"))]
    off: u32,
}

impl Rules {
    /// Every rule in force.
    pub const ALL: Self = Self {
        #[cfg(any(test, feature = "internals"))]
        off: 0,
    };

    /// These rules but for `rule`.
    #[cfg(any(test, feature = "internals"))]
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self { off: self.off | 1 << rule as u32 }
    }

    #[cfg(any(test, feature = "internals"))]
    const fn has(self, rule: Rule) -> bool {
        self.off & 1 << rule as u32 == 0
    }

    #[cfg(not(any(test, feature = "internals")))]
    const fn has(self, _: Rule) -> bool {
        true
    }

    /// R1: returns true if records count before they are flushed, as with `write.caching`.
    pub const fn counts_unflushed(self, write_caching: bool) -> bool {
        write_caching || !self.has(Rule::FlushedCounts)
    }

    /// R2a: returns true if the watermark waits for members that have only been asked for.
    pub(super) const fn waits_for_pending(self) -> bool {
        self.has(Rule::MaximalSet)
    }

    /// R2b: returns true if the watermark may move with this many members in sync.
    pub(super) const fn has_minimum(self, in_sync: usize, minimum: usize) -> bool {
        in_sync >= minimum || !self.has(Rule::MinimumHolds)
    }

    /// R2c: returns true if a set asked for counts on when nobody knows the outcome.
    pub(super) const fn keeps_unknown(self) -> bool {
        self.has(Rule::UnknownStaysMaximal)
    }

    /// R3: the version that a write names, given the version that it was computed from.
    pub(super) const fn named_version(self, computed_from: i32) -> i32 {
        if self.has(Rule::CompareAndSet) { computed_from } else { ANY_VERSION }
    }

    /// R4: returns true if a broker may lead in an epoch for which `elected` was chosen.
    pub fn may_lead(self, elected: Incarnation, own: Incarnation) -> bool {
        elected == own || !self.has(Rule::OwnIncarnation)
    }

    /// R5: the incarnation as which a replica joins the in-sync set, if it may.
    pub(super) fn joining(
        self,
        fetched: Incarnation,
        registered: Option<Incarnation>,
    ) -> Option<Incarnation> {
        registered.filter(|known| *known == fetched || !self.has(Rule::JoinByIncarnation))
    }

    /// R6a: returns true if a leader may answer clients, which it may without a lease only where no
    /// other broker can lead.
    pub const fn may_answer(self, is_leased: bool) -> bool {
        is_leased || !self.has(Rule::AnsweredUnderLease)
    }

    /// R8a: the epoch and the end at which a leader's log goes on differently than a follower's.
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
            // An empty log agrees with any, unless it begins where the leader has not arrived yet.
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

    /// R16: returns true if a follower takes the watermark of an answer by which it truncates.
    pub(super) const fn takes_watermark_first(self) -> bool {
        !self.has(Rule::TruncateFirst)
    }

    /// R15a: returns true if a leader is silent while the store is asked to replace it.
    pub(super) const fn is_silent_while_asking(self) -> bool {
        self.has(Rule::HandOverSilent)
    }

    /// R15b: returns true if a leader stays silent when nobody knows whether it was replaced.
    pub(super) const fn is_silent_while_unknown(self) -> bool {
        self.has(Rule::HandOverUnknown)
    }

    /// R15d: returns true if a replica that has stored this much may lead after `log_end`.
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

    /// I15: returns true if a record appended in one epoch may be acknowledged in another.
    pub fn may_acknowledge(self, appended_in: LeaderEpoch, current: LeaderEpoch) -> bool {
        appended_in == current || !self.has(Rule::AcknowledgedInEpoch)
    }
}
