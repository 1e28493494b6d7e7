//! The follower's part of a partition: the position of its next fetch, and the steps by which it
//! makes its log the same as its leader's.
//!
//! A step is tied to the leader epoch in which it was decided: once the role has changed, the log
//! refuses it.

use std::collections::BTreeMap;
use std::iter;
use std::slice;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::metadata::Caching;
use crate::replication::role::Current;
use crate::replication::{
    EpochHistory, FetchAnswer, FetchOutcome, FetchPosition, Follower, FollowerStep, Partition,
    PartitionError, Progress, Role,
};
use crate::storage::{DataDir, EpochStart, FetchedError, Log, StorageError, Truncation};
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// The number of logs that are truncated together. Their partitions wait for each other meanwhile,
/// and all other changes of the data directory for them.
const TRUNCATED_AT_ONCE: usize = 16;

/// The next fetch of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerPosition {
    /// The broker to fetch from.
    pub leader: BrokerId,
    /// The position to fetch from.
    pub position: FetchPosition,
    /// The log start offset.
    pub log_start: Offset,
}

/// The reason why a follower has not applied an answer.
#[derive(Debug, thiserror::Error)]
pub enum FollowerError {
    /// The partition or its log refused the step.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The leader sent records that this log must not take.
    #[error("the records from the leader are refused: {0}")]
    Refused(#[source] FetchedError),
    /// The leader lacks committed records (rule R24 in docs/replication.md).
    #[error(
        "the leader would have the records from {from} on removed, although all below {floor} were \
         committed: they are kept, and the leader is told that it has lost records"
    )]
    BelowFloor {
        /// The offset from which on records would be removed.
        from: Offset,
        /// The offset below which all records were committed.
        floor: Offset,
    },
}

impl FollowerError {
    /// Returns true if the error leaves the disk's content unknown, so that the broker must
    /// restart.
    pub fn leaves_disk_unknown(&self) -> bool {
        match self {
            Self::Partition(PartitionError::Storage(error)) => error.leaves_disk_unknown(),
            Self::Partition(_) | Self::Refused(_) | Self::BelowFloor { .. } => false,
        }
    }

    /// Returns true if the leader's log lacks records after the end of this log.
    pub fn is_gap(&self) -> bool {
        matches!(self, Self::Refused(error) if error.is_gap())
    }

    /// Returns true if the leader epoch of the fetch is over.
    pub fn ends_epoch(&self) -> bool {
        matches!(self, Self::Partition(error) if error.ends_epoch())
    }
}

impl Partition {
    /// The next fetch; `None` if this broker does not follow another. Opens the log on first use,
    /// which blocks on the disk.
    ///
    /// # Errors
    /// If the partition has stopped, or its log cannot be opened.
    pub fn follower_position(self: &Arc<Self>) -> Result<Option<FollowerPosition>, PartitionError> {
        if !matches!(self.role(), Role::Follower { leader: Some(_) }) {
            return Ok(None);
        }
        self.open()?;
        let log = self.log();
        // Read this before the end of the log. In the other order, a flush in between could make
        // the flushed offset larger than the end.
        let flushed = log.as_deref().map_or(Offset::ZERO, |log| self.reported(log));
        let known = HistoryOfLog::read(log.as_deref())?;
        let history = known.get();
        let needs_floor = self.lock_leadership().follower.as_ref().is_some_and(|f| f.needs_floor());
        // Reading it may wait for a checkpoint that is being written.
        let floor = needs_floor.then(|| self.floor(history.last_epoch()));
        let mut leadership = self.lock_leadership();
        let Some(follower) = &mut leadership.follower else { return Ok(None) };
        Ok(Some(FollowerPosition {
            leader: follower.leader(),
            position: follower.position(history, flushed, floor),
            log_start: self.log_start_offset(),
        }))
    }

    /// R1: the offset below which this follower reports all records as flushed.
    fn reported(&self, log: &Log) -> Offset {
        let counts_unflushed = self.rules().counts_unflushed(Caching::Off);
        if counts_unflushed { log.log_end_offset() } else { log.flushed_offset() }
    }

    /// Returns true if this replica keeps records that its leader would have it remove, although
    /// they were committed.
    pub fn keeps_records(&self) -> bool {
        self.lock_leadership().follower.as_ref().is_some_and(|follower| follower.keeps_floor())
    }

    /// Notes, at `now` by the monotonic clock, that a fetch to the leader of an epoch is about to
    /// be sent, after the previous answer has arrived. Returns false if it must not be sent,
    /// because the epoch is over: its leader could take the fetch for proof that this replica has
    /// not been elected (rule R6f in `protocol/rules.rs`).
    pub fn note_asking(&self, epoch: LeaderEpoch, now: Duration) -> bool {
        let mut leadership = self.lock_leadership();
        let current = self.current();
        let is_followed =
            current.epoch == epoch && matches!(current.role, Role::Follower { leader: Some(_) });
        let asks = leadership.asks.as_mut().filter(|_| is_followed);
        asks.is_some_and(|asks| asks.note_next(now, self.rules()))
    }

    /// The log end offset, while this broker follows another and has not stored all records before
    /// it.
    pub fn unstored_end(&self) -> Option<Offset> {
        if !matches!(self.role(), Role::Follower { leader: Some(_) }) {
            return None;
        }
        // Read this before the end of the log: records appended in between count as unstored.
        let stored = self.stored();
        self.log().map(|log| log.log_end_offset()).filter(|end| stored < *end)
    }

    /// Waits until this follower has stored all records of its log, whatever leader epochs begin
    /// meanwhile, and lets the flusher hurry. Returns at once if this broker does not follow
    /// another.
    pub async fn all_stored(self: &Arc<Self>) {
        let wake = Arc::new(Notify::new());
        while let Some(end) = self.unstored_end() {
            // Register, then look again: the wake-up of a flush that ended before the registration
            // was lost.
            let last = Offset::new(end.get() - 1);
            let _registration = self.wait_for(Progress::Stored, last, &wake);
            if self.unstored_end().is_some() {
                wake.notified().await;
            }
        }
    }

    /// Takes the leader's answer to a fetch, as [`take_all_fetched`] does.
    ///
    /// # Errors
    /// As there.
    #[cfg(any(test, feature = "internals"))]
    pub fn take_fetched(
        self: &Arc<Self>,
        answer: &FetchAnswer,
        records: &[u8],
    ) -> Result<(), FollowerError> {
        take_all_fetched(&[Fetched { partition: self, answer, records }]).swap_remove(0)
    }

    /// Takes an answer, up to a truncation that it demands.
    fn begin_to_take(
        self: &Arc<Self>,
        answer: &FetchAnswer,
        records: &[u8],
    ) -> Result<Option<Truncating<'_>>, FollowerError> {
        self.open()?;
        let once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let epoch = answer.position.epoch;
        match self.next_step(answer)? {
            FollowerStep::Discard => Ok(None),
            FollowerStep::Append => self.append_fetched(answer, records).map(|()| None),
            FollowerStep::Truncate(to) => {
                let Some(log) = self.log() else { return Ok(None) };
                self.warn_of_given_up(to);
                let end = log.log_end_offset();
                let truncation = Truncation { log, epoch, to };
                Ok(Some(Truncating { _once: once, end, truncation }))
            }
            FollowerStep::StartOver(at) => {
                self.detached_by(self.start_over(epoch, at)).map(|()| None)
            }
            FollowerStep::Keep(from) => {
                let floor = answer.position.floor.offset;
                Err(FollowerError::BelowFloor { from, floor })
            }
        }
    }

    fn warn_of_given_up(&self, to: Offset) {
        let high_watermark = self.high_watermark();
        if to < high_watermark {
            tracing::warn!(
                partition = %self.id, %to, %high_watermark,
                "the leader's log diverges below the high watermark: records that an operator has \
                 given up are removed here"
            );
        }
    }

    /// Ends a truncation with the new end of the log. The watermark falls with it, so that it is
    /// not above the end of the log (rule R16).
    fn end_to_take(
        self: &Arc<Self>,
        answer: &FetchAnswer,
        truncating: &Truncating<'_>,
        truncated: Result<Offset, StorageError>,
    ) -> Result<(), FollowerError> {
        let epoch = answer.position.epoch;
        let changed = match truncated {
            Ok(to) => {
                let (partition, end) = (&self.id, truncating.end);
                tracing::info!(%partition, %end, %to, %epoch, "diverging records removed");
                self.forget_ended_above(to);
                self.update_follower(|follower| follower.truncated(to));
                self.set_stored(self.stored().min(to));
                Ok(())
            }
            // The log starts within the batch that has to be removed.
            Err(StorageError::OffsetOutOfRange { .. }) => self.start_over(epoch, answer.log_start),
            Err(error) => Err(error.into()),
        };
        self.detached_by(changed)
    }

    /// Lets go of the log if a change of it has failed.
    fn detached_by(&self, changed: Result<(), PartitionError>) -> Result<(), FollowerError> {
        changed.map_err(FollowerError::from).inspect_err(|error| {
            if !error.leaves_disk_unknown() && !error.ends_epoch() {
                self.detach();
            }
        })
    }

    fn next_step(&self, answer: &FetchAnswer) -> Result<FollowerStep, PartitionError> {
        let log = self.log();
        let history = HistoryOfLog::read(log.as_deref())?;
        let mut leadership = self.lock_leadership();
        let Some(follower) = &mut leadership.follower else { return Ok(FollowerStep::Discard) };
        let step = follower.answered(answer, history.get(), self.log_start_offset());
        if step == FollowerStep::Append {
            follower.stored(self.stored());
        }
        self.set_high_watermark(follower.high_watermark());
        Ok(step)
    }

    fn append_fetched(
        self: &Arc<Self>,
        answer: &FetchAnswer,
        records: &[u8],
    ) -> Result<(), FollowerError> {
        if !records.is_empty() {
            let log = self.own_log()?;
            let _hold = self.hold(&log)?;
            let end = log.append_fetched(records, answer.position.epoch).map_err(refused)?;
            if self.counts_unflushed() {
                self.logs().flusher.confirm(&log).map_err(PartitionError::from)?;
                self.appended(end);
            }
            self.logs().flusher.schedule(&log, true);
        }
        Ok(self.follow_log_start(answer.log_start)?)
    }

    /// Lets the next answers leave gaps below an offset, because the leader has compacted its log,
    /// or an operator has skipped damage there. Blocks on the disk.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn expect_gaps(self: &Arc<Self>, below: Offset) -> Result<(), PartitionError> {
        self.open()?;
        let _once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let log = self.own_log()?;
        let _hold = self.hold(&log)?;
        Ok(log.expect_gaps(below)?)
    }

    /// Removes the records that the leader has removed, but none that this replica has not flushed.
    fn follow_log_start(&self, leaders: Offset) -> Result<(), PartitionError> {
        let Some(log) = self.log() else { return Ok(()) };
        let start = leaders.min(log.flushed_offset());
        if start <= log.log_start_offset() {
            return Ok(());
        }
        let starts = self.logs().data.advance_log_starts(&[(Arc::clone(&log), start)])?;
        starts.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Everything below the leader's log start was replicated.
        self.update_follower(|follower| follower.stored(log.flushed_offset()));
        self.logs().remove_segments(self, &log);
        Ok(())
    }

    /// Removes all records and continues where the leader's log begins.
    fn start_over(self: &Arc<Self>, epoch: LeaderEpoch, at: Offset) -> Result<(), PartitionError> {
        let log = self.own_log()?;
        tracing::warn!(
            partition = %self.id, end = %log.log_end_offset(), %at,
            "the leader has no records where this log ends: all records here are removed"
        );
        self.logs().data.start_log_over(&Truncation { log, epoch, to: at })?;
        self.forget_ended_above(Offset::ZERO);
        self.update_follower(|follower| follower.started_over(at));
        self.set_stored(at);
        Ok(())
    }

    /// Acknowledges no more by an ended epoch that had committed records from `to` on: they have
    /// been removed here, because an operator has given them up.
    fn forget_ended_above(&self, to: Offset) {
        self.update(|current| {
            let ended = current.ended.clone().filter(|ended| ended.high_watermark <= to);
            Current { ended, ..current.clone() }
        });
    }

    /// The log, created if there is none.
    fn own_log(self: &Arc<Self>) -> Result<Arc<Log>, PartitionError> {
        self.log().map_or_else(|| self.create(), Ok)
    }

    /// Changes the follower's state, and publishes its watermark.
    fn update_follower(&self, change: impl FnOnce(&mut Follower)) {
        let mut leadership = self.lock_leadership();
        if let Some(follower) = &mut leadership.follower {
            change(follower);
            self.set_high_watermark(follower.high_watermark());
        }
    }
}

/// A leader's answer to a fetch of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Fetched<'a> {
    /// The partition.
    pub partition: &'a Arc<Partition>,
    /// The answer.
    pub answer: &'a FetchAnswer,
    /// The records in it.
    pub records: &'a [u8],
}

impl<'a> Fetched<'a> {
    fn begin(&self) -> Result<Option<Truncating<'a>>, FollowerError> {
        self.partition.begin_to_take(self.answer, self.records)
    }

    fn is_diverging(&self) -> bool {
        matches!(self.answer.outcome, FetchOutcome::Diverging { .. })
    }
}

/// A follower whose log is to be truncated to where it agrees with its leader's.
struct Truncating<'p> {
    _once: MutexGuard<'p, ()>,
    /// The log end offset before.
    end: Offset,
    truncation: Truncation,
}

/// Takes a leader's answers to fetches of different partitions, in the order of their keys, and
/// acts on each: appends its records, or truncates the log where it diverges from the leader's. The
/// logs that are truncated share the writes of their checkpoint: after an outage these may be all.
/// An answer to a position or epoch that is over is ignored. Returns the result of each. Blocks on
/// the disk.
///
/// # Panics
/// If the answers are in another order: two calls could then wait for each other.
///
/// # Errors
/// If the records may not follow in this log (rule R17 in docs/replication.md), or the disk
/// fails. The next fetch begins where the log then ends. After a truncation that stopped half-way,
/// recovery determines that end.
pub fn take_all_fetched(fetched: &[Fetched<'_>]) -> Vec<Result<(), FollowerError>> {
    let is_ordered =
        |one: &Fetched<'_>, other: &Fetched<'_>| one.partition.key() < other.partition.key();
    assert!(fetched.is_sorted_by(is_ordered), "answers out of order");
    let (diverging, others): (Vec<_>, Vec<_>) =
        fetched.iter().enumerate().partition(|(_, it)| it.is_diverging());
    let one_by_one = others.chunks(1);
    let groups = one_by_one.chain(diverging.chunks(TRUNCATED_AT_ONCE));
    let results: BTreeMap<usize, _> = groups.flat_map(take_together).collect();
    results.into_values().collect()
}

/// Takes answers, each with its place, whose partitions wait for each other.
fn take_together<'f>(
    fetched: &[(usize, &'f Fetched<'f>)],
) -> Vec<(usize, Result<(), FollowerError>)> {
    let begun: Vec<_> = fetched.iter().map(|(_, it)| it.begin()).collect();
    let truncations: Vec<_> =
        begun.iter().flatten().flatten().map(|it| it.truncation.clone()).collect();
    let data = fetched.first().map(|(_, it)| &it.partition.logs().data);
    let mut ends = data.map(|data| truncate(data, &truncations)).unwrap_or_default().into_iter();
    let mut end = |it: &Fetched<'_>, begun: Result<Option<Truncating<'_>>, FollowerError>| {
        let (Some(truncating), Some(truncated)) = (begun?, ends.next()) else { return Ok(()) };
        it.partition.end_to_take(it.answer, &truncating, truncated)
    };
    fetched.iter().zip(begun).map(|((place, it), begun)| (*place, end(it, begun))).collect()
}

/// Truncates logs by one write of their checkpoint. If that fails, the first has its error, and
/// each other gets a write of its own. After an error that leaves the disk unknown, nothing more is
/// written.
fn truncate(data: &DataDir, truncations: &[Truncation]) -> Vec<Result<Offset, StorageError>> {
    let Some((_, others)) = truncations.split_first() else { return Vec::new() };
    let error = match data.truncate_logs(truncations) {
        Ok(ends) => return ends,
        Err(error) => error,
    };
    let mut unknown = error.leaves_disk_unknown().then(|| error.to_string());
    let alone = |other: &Truncation| {
        if let Some(cause) = &unknown {
            return Err(StorageError::left_alone(other.log.partition(), cause));
        }
        let truncated = data.truncate_logs(slice::from_ref(other));
        truncated.and_then(|mut end| end.swap_remove(0)).inspect_err(|error| {
            unknown = error.leaves_disk_unknown().then(|| error.to_string());
        })
    };
    iter::once(Err(error)).chain(others.iter().map(alone)).collect()
}

/// The end of a log, and the epochs of the records below it.
pub(super) struct HistoryOfLog {
    epochs: Vec<EpochStart>,
    end: Offset,
}

impl HistoryOfLog {
    /// Reads the history of a log; an empty one if there is no log.
    pub(super) fn read(log: Option<&Log>) -> Result<Self, StorageError> {
        let Some(log) = log else { return Ok(Self { epochs: Vec::new(), end: Offset::ZERO }) };
        // Read the end first. In the other order, records of an epoch that began in between would
        // count as records of the epoch before, and a follower that diverges from them as one that
        // has them.
        let end = log.log_end_offset();
        Ok(Self { epochs: log.epochs().entries()?, end })
    }

    /// The history.
    pub(super) fn get(&self) -> EpochHistory<'_> {
        EpochHistory::new(&self.epochs, self.end)
    }
}

fn refused(error: FetchedError) -> FollowerError {
    match error {
        FetchedError::Storage(error) => PartitionError::from(error).into(),
        refused => FollowerError::Refused(refused),
    }
}
