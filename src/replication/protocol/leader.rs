//! The leader of a partition during one leader epoch.
//!
//! It counts how far each replica has stored the log, moves the high watermark, and decides which
//! replicas are in sync. The watermark is the least offset that the replicas of the maximal in-sync
//! set have stored, which means flushed, or only appended while the partition caches; it never
//! falls.

use std::time::Duration;

use crate::metadata::{Caching, InSyncOutcome, Incarnation, IsrMember};
use crate::replication::protocol::hand_over::HandOver;
use crate::replication::protocol::{
    EpochHistory, FetchPosition, FetchingReplica, HandOverStage, HandOverStep, InSyncChange,
    InSyncSet, InSyncState, Rules,
};
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// The pause before another change of an in-sync set is asked for, after the store has refused one.
/// A follower that may join fetches again at once, and what stands in its way may last.
const REFUSED_PAUSE: Duration = Duration::from_millis(500);

/// The facts with which a leader epoch begins.
#[derive(Clone, Debug)]
pub struct LeaderStart {
    /// This broker.
    pub broker: BrokerId,
    /// The leader epoch.
    pub epoch: LeaderEpoch,
    /// The log end offset.
    pub log_end: Offset,
    /// The high watermark that this replica knows.
    pub high_watermark: Offset,
    /// The in-sync replicas.
    pub in_sync: InSyncState,
    /// The caching of the partition.
    pub caching: Caching,
    /// The time until which this broker answers no client (rule R6f in `rules.rs`).
    pub silent_until: Duration,
}

/// The leader of a partition.
#[derive(Clone, Debug)]
pub struct Leader {
    rules: Rules,
    broker: BrokerId,
    epoch: LeaderEpoch,
    epoch_start: Offset,
    in_sync: InSyncSet,
    caching: AssignedCaching,
    /// The progress of this broker's log.
    own: LogProgress,
    followers: Vec<Progress>,
    high_watermark: Offset,
    /// The offset below which records are promised to survive the loss of power: those of earlier
    /// epochs, and what was shown while only flushed records counted.
    promised: Offset,
    /// The time at which members that have not fetched yet count as caught up.
    began: Duration,
    silent_until: Duration,
    /// The join of which the outcome is not known.
    joining: Option<Joining>,
    /// The replicas that may not join for now, because a change about them was refused, each with
    /// the time at which it is asked for again.
    refused: Vec<(BrokerId, Duration)>,
    hand_over: Option<HandOver>,
}

/// A change by which a replica joins the in-sync set; by which caching ends, if the replica is the
/// leader's own.
#[derive(Clone, Copy, Debug)]
struct Joining {
    /// The number of the change.
    id: u64,
    broker: BrokerId,
    /// The time at which the change was asked for.
    asked_at: Duration,
}

/// The caching of the partition, by a state of this version.
#[derive(Clone, Copy, Debug)]
struct AssignedCaching {
    caching: Caching,
    version: i32,
}

/// The progress of a replica's log.
#[derive(Clone, Copy, Debug)]
struct LogProgress {
    /// The offset below which all records are flushed.
    flushed: Offset,
    /// The offset below which all records are appended.
    appended: Offset,
}

/// The last fetch of a follower in this epoch.
#[derive(Clone, Copy, Debug)]
struct Progress {
    broker: BrokerId,
    incarnation: Incarnation,
    log: LogProgress,
    at: Duration,
    /// The leader's log end at the time of the fetch.
    log_end: Offset,
    /// The last time at which the follower had all records.
    caught_up: Duration,
    /// The time until which the follower's fetches prove that it does not lead (rule R6b in
    /// `rules.rs`).
    proved_until: Duration,
}

/// The result of a follower's fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedFetch {
    /// The fetch belongs to another leader epoch or to an earlier incarnation; nothing was counted.
    Fenced,
    /// The follower's log diverges from the leader's; nothing was counted.
    Diverging {
        /// The last epoch of the leader's log that is not above that of the follower.
        epoch: LeaderEpoch,
        /// The end of that epoch.
        end: Offset,
    },
    /// The fetch shows that the leader's log has lost committed records; nothing was counted, and
    /// the leader must stop.
    RecordsLost,
    /// The follower's position was counted.
    Counted {
        /// True if the high watermark has moved.
        has_advanced: bool,
        /// The change by which the follower joins the in-sync set, or the caching ends.
        change: Option<InSyncChange>,
    },
}

impl Leader {
    /// Begins a leader epoch at `now`. Nothing of the log counts as stored yet.
    pub fn new(rules: Rules, start: LeaderStart, now: Duration) -> Self {
        let (caching, version) = (start.caching, start.in_sync.version);
        Self {
            rules,
            broker: start.broker,
            epoch: start.epoch,
            epoch_start: start.log_end,
            in_sync: InSyncSet::new(rules, start.in_sync),
            caching: AssignedCaching { caching, version },
            own: LogProgress { flushed: Offset::ZERO, appended: Offset::ZERO },
            followers: Vec::new(),
            high_watermark: start.high_watermark,
            promised: start.log_end,
            began: now,
            silent_until: start.silent_until,
            joining: None,
            refused: Vec::new(),
            hand_over: None,
        }
    }

    /// The leader epoch.
    pub fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// The log end offset at the start of the epoch.
    pub fn epoch_start(&self) -> Offset {
        self.epoch_start
    }

    /// The first offset that is not yet replicated.
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// The in-sync set.
    pub fn in_sync(&self) -> &InSyncSet {
        &self.in_sync
    }

    /// Returns true if clients may read: an earlier leader may have shown a higher watermark until
    /// this one has reached the start of its epoch (KIP-207).
    pub fn is_readable(&self) -> bool {
        self.rules.may_be_read(self.high_watermark, self.epoch_start)
    }

    /// Rule R6b: returns true if it is certain that no other broker has been elected. Every replica
    /// that could have been elected has fetched in this epoch, following an answer that this leader
    /// sent a short time ago.
    pub fn has_proof(&self, now: Duration) -> bool {
        let proves = |member: IsrMember| {
            member.broker == self.broker
                || self.progress_of(&member).is_some_and(|known| now < known.proved_until)
        };
        self.rules.may_be_proved(self.in_sync.has_eligible()) && self.in_sync.proving().all(proves)
    }

    /// The caching in which this leader counts.
    pub fn caching(&self) -> Caching {
        let AssignedCaching { caching, version } = self.caching;
        let is_outdated = version < self.in_sync.version();
        self.rules.leader_caching(caching, is_outdated, self.in_sync.may_end_caching())
    }

    /// Takes the caching of an assignment, by a state of this version. Returns true if the high
    /// watermark has moved.
    pub fn set_caching(&mut self, caching: Caching, version: i32) -> bool {
        if version >= self.caching.version {
            self.caching = AssignedCaching { caching, version };
        }
        self.advance()
    }

    /// Records that this broker has flushed all records below `end`. Returns true if the high
    /// watermark has moved.
    pub fn flushed(&mut self, end: Offset) -> bool {
        self.own.flushed = self.own.flushed.max(end);
        self.appended(end)
    }

    /// Records that this broker has appended all records below `end`. Returns true if the high
    /// watermark has moved.
    pub fn appended(&mut self, end: Offset) -> bool {
        self.own.appended = self.own.appended.max(end);
        self.advance()
    }

    /// The offset below which this broker has stored all records.
    pub fn stored(&self) -> Offset {
        self.counted(self.own)
    }

    /// The offset below which the records of a replica count as stored.
    fn counted(&self, log: LogProgress) -> Offset {
        let counts_unflushed = self.rules.counts_unflushed(self.caching());
        if counts_unflushed { log.appended } else { log.flushed }
    }

    /// Rule R14: returns the change after which the partition does not count as caching any more.
    /// `None` if it does not count so, records that counted before may not be flushed yet, or a
    /// change is under way.
    pub fn end_caching(&mut self, now: Duration) -> Option<InSyncChange> {
        let AssignedCaching { caching, version } = self.caching;
        let is_ending = caching == Caching::Ending && version == self.in_sync.version();
        // R14k: an earlier leader may answer until this one may.
        let is_due = is_ending
            && !self.is_paused(self.broker, now)
            && self.rules.may_change_leader(now, self.silent_until)
            && self.rules.may_empower(self.in_sync.is_unvouched())
            && self.rules.may_end_caching(
                self.covered(),
                self.high_watermark,
                self.epoch_start,
                self.in_sync.has_eligible(),
            );
        if !is_due {
            return None;
        }
        self.promised = self.promised.max(self.high_watermark);
        let change = self.in_sync.end_caching()?;
        self.joining = Some(Joining { id: change.id, broker: self.broker, asked_at: now });
        Some(change)
    }

    /// Returns true if a change about a replica was refused a short time ago.
    fn is_paused(&self, broker: BrokerId, now: Duration) -> bool {
        self.refused.iter().any(|(other, until)| *other == broker && now < *until)
    }

    /// Counts a follower's fetch, given the leader's log at that time.
    pub fn fetched(
        &mut self,
        replica: FetchingReplica,
        position: &FetchPosition,
        log: EpochHistory<'_>,
        now: Duration,
    ) -> CountedFetch {
        let is_old = |known: &Progress| {
            known.broker == replica.broker && known.incarnation > replica.incarnation
        };
        let is_fenced = !self.rules.is_same_epoch(position.epoch, self.epoch);
        if is_fenced || self.followers.iter().any(is_old) {
            return CountedFetch::Fenced;
        }
        if self.rules.has_lost_records(log.end(), position.floor) {
            return CountedFetch::RecordsLost;
        }
        if let Some((epoch, end)) = self.rules.divergence(log, position) {
            return CountedFetch::Diverging { epoch, end };
        }
        self.note(replica, position, log.end(), now);
        let has_advanced = self.advance();
        let change = self.join(replica, log_progress(position), now);
        let change = change.or_else(|| self.end_caching(now));
        CountedFetch::Counted { has_advanced, change }
    }

    /// Returns the change that takes lagging members out of the in-sync set: those that have lacked
    /// records for longer than `lag_max`. `None` if there are none, or a change is under way.
    pub fn remove_lagging(&mut self, now: Duration, lag_max: Duration) -> Option<InSyncChange> {
        if self.in_sync.is_changing() {
            return None;
        }
        let lags = |member: &IsrMember| {
            let caught_up = self.progress_of(member).map_or(self.began, |known| known.caught_up);
            member.broker != self.broker && now.saturating_sub(caught_up) > lag_max
        };
        let members = self.in_sync.members();
        let left: Vec<_> = members.iter().filter(|member| !lags(member)).copied().collect();
        if left.len() == members.len() { None } else { self.in_sync.change_to(left) }
    }

    /// Returns true while the outcome of this change is not known.
    pub fn awaits(&self, id: u64) -> bool {
        self.in_sync.awaits(id)
    }

    /// Takes the outcome of a change. Returns true if the high watermark has moved.
    pub fn change_answered(&mut self, id: u64, outcome: InSyncOutcome) -> bool {
        self.hand_over.take_if(|hand_over| hand_over.answered(id, outcome));
        self.in_sync.answered(id, outcome);
        let joining = self.joining.take_if(|joining| joining.id == id);
        if outcome == InSyncOutcome::Refused
            && let Some(Joining { broker, asked_at, .. }) = joining
        {
            self.refused.retain(|(other, _)| *other != broker);
            self.refused.push((broker, asked_at + REFUSED_PAUSE));
        }
        self.advance()
    }

    /// Takes the partition's state as it was read from the store, in this leader epoch. Returns
    /// true if the high watermark has moved.
    pub fn state_read(&mut self, state: InSyncState, behind_sync: bool) -> bool {
        let (rules, version) = (self.rules, state.version);
        self.hand_over.take_if(|hand_over| hand_over.read(version, behind_sync, rules));
        if version > self.in_sync.version() {
            // The refused change was computed from an earlier state.
            self.refused.clear();
        }
        self.in_sync.read(state, behind_sync);
        self.advance()
    }

    /// Begins to hand over to an in-sync replica: from now on the caller appends nothing. Returns
    /// false if that broker cannot lead, or a hand-over is under way.
    pub fn begin_hand_over(&mut self, to: BrokerId, now: Duration) -> bool {
        let successor = self.in_sync.member(to).filter(|_| to != self.broker);
        let (None, Some(successor)) = (&self.hand_over, successor) else { return false };
        if !self.rules.may_empower(self.in_sync.is_unvouched()) {
            return false;
        }
        self.hand_over = Some(HandOver::new(successor, now));
        true
    }

    /// The effect of the hand-over under way.
    pub fn hand_over_stage(&self) -> HandOverStage {
        self.hand_over.as_ref().map_or(HandOverStage::None, |begun| begun.stage(self.rules))
    }

    /// The next step of the hand-over, given the end of the log, to which nothing is appended.
    pub fn continue_hand_over(&mut self, log_end: Offset, now: Duration) -> HandOverStep {
        let Some(begun) = &self.hand_over else { return HandOverStep::Over };
        if begun.is_asked() {
            return HandOverStep::Wait;
        }
        let successor = begun.successor();
        let is_member = self.in_sync.members().contains(&successor);
        if !is_member || begun.has_waited_enough(now) {
            self.hand_over = None;
            return HandOverStep::Over;
        }
        let stored = self.progress_of(&successor).map(|known| self.counted(known.log));
        let has_all = stored.is_some_and(|stored| self.rules.may_succeed(stored, log_end));
        // Wait until the watermark has reached the log end, so that waiting producers are answered.
        // Below the minimum, it cannot move.
        let has_answered = self.high_watermark >= log_end || !self.in_sync.may_advance();
        if !has_all || !has_answered || !self.rules.may_change_leader(now, self.silent_until) {
            return HandOverStep::Wait;
        }
        let change = self.in_sync.hand_over_to(successor);
        if let (Some(begun), Some(change)) = (&mut self.hand_over, &change) {
            begun.ask(change);
        }
        change.map_or(HandOverStep::Wait, HandOverStep::Ask)
    }

    /// Moves the high watermark as far as the rules allow.
    fn advance(&mut self) -> bool {
        if !self.in_sync.may_advance() {
            return false;
        }
        let covered = self.covered();
        let has_moved = covered > self.high_watermark;
        self.high_watermark = covered.max(self.high_watermark);
        if !self.rules.counts_unflushed(self.caching()) {
            self.promised = self.promised.max(self.high_watermark);
        }
        has_moved
    }

    /// The offset below which all members of the maximal in-sync set have stored all records.
    fn covered(&self) -> Offset {
        let others = self.in_sync.maximal().filter(|member| member.broker != self.broker);
        let stored = others.map(|member| {
            self.progress_of(&member).map_or(Offset::ZERO, |known| self.counted(known.log))
        });
        stored.fold(self.stored(), Offset::min)
    }

    /// The progress of a member. Fetches of another incarnation of its broker do not count.
    fn progress_of(&self, member: &IsrMember) -> Option<&Progress> {
        let is_its = |known: &&Progress| {
            known.broker == member.broker && known.incarnation == member.incarnation
        };
        self.followers.iter().find(is_its)
    }

    fn note(
        &mut self,
        replica: FetchingReplica,
        position: &FetchPosition,
        log_end: Offset,
        now: Duration,
    ) {
        let FetchingReplica { broker, incarnation, .. } = replica;
        let known = self.followers.iter().position(|known| known.broker == broker);
        let before = known.map(|index| self.followers.swap_remove(index));
        let before = before.filter(|known| known.incarnation == incarnation);
        let caught_up = match before {
            _ if position.offset >= log_end => now,
            // The follower has all records that the leader had at the follower's last fetch.
            Some(known) if position.offset >= known.log_end => known.at.max(known.caught_up),
            Some(known) => known.caught_up,
            None => self.began,
        };
        // This fetch may prove less than an earlier one, if it belongs to a new fetch session.
        let proved_before = before.map_or(Duration::ZERO, |known| known.proved_until);
        let proved_until = self.rules.proved_until(replica.follows, now).max(proved_before);
        let (at, log) = (now, log_progress(position));
        let progress = Progress { broker, incarnation, log, at, log_end, caught_up, proved_until };
        self.followers.push(progress);
    }

    fn join(
        &mut self,
        replica: FetchingReplica,
        log: LogProgress,
        now: Duration,
    ) -> Option<InSyncChange> {
        let is_member = self.in_sync.contains(replica.broker);
        let is_paused = self.is_paused(replica.broker, now);
        let may_grow = self.rules.may_change_leader(now, self.silent_until)
            && self.rules.may_empower(self.in_sync.is_unvouched());
        if is_member
            || is_paused
            || !may_grow
            || !self.rules.may_join(self.counted(log), self.high_watermark, self.epoch_start)
            || !self.rules.has_promised(log.flushed, self.promised, self.caching())
        {
            return None;
        }
        let incarnation = self.rules.joining(replica.incarnation, replica.registered)?;
        let joining = IsrMember { broker: replica.broker, incarnation };
        let members = self.in_sync.members().iter().copied().chain([joining]).collect();
        let change = self.in_sync.change_to(members)?;
        self.joining = Some(Joining { id: change.id, broker: replica.broker, asked_at: now });
        Some(change)
    }
}

/// The progress of a follower's log.
fn log_progress(position: &FetchPosition) -> LogProgress {
    // A replica cannot have flushed more than it has.
    LogProgress { flushed: position.flushed.min(position.offset), appended: position.offset }
}
