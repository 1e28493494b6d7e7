//! Removal of the beginning of a log: by age, by size, or on request.
//!
//! Only whole segments are removed, the oldest first and each durably before the next, so that a
//! crash leaves no gap. The age of a segment is measured from its largest timestamp or from the
//! time at which it was rolled, whichever is later. So records loaded from an archive today are
//! kept as long as records created today. With `retention.clock=record` only the timestamps count,
//! as in Apache Kafka. Records above the high watermark and unflushed records are never removed.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::log::flushes::Flushes;
use crate::storage::log::removed_files::{RemovedFiles, SegmentsHold};
use crate::storage::log::tail::{Active, Segments};
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::Segment;
use crate::storage::{LogConfig, RetentionClock, StorageError};
use crate::types::{Offset, Timestamp};

/// The result of a retention pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of segments removed.
    pub segments: usize,
    /// The bytes of their batches.
    pub bytes: u64,
}

/// The removal of the first segments of a log.
#[derive(Clone, Copy, Debug)]
pub struct Retention<'log> {
    flushes: Flushes<'log>,
    tail: &'log TailLock,
    removed_files: &'log RemovedFiles,
}

/// The rules of a topic for the removal of segments, applied at some time.
struct Rules {
    config: Arc<LogConfig>,
    now: Timestamp,
}

impl Rules {
    /// The time before which records have expired; `None` if none expires.
    fn oldest(&self) -> Option<Timestamp> {
        let age = self.config.retention.filter(|_| self.config.cleanup_policy.delete)?;
        Some(self.now.minus(age))
    }

    /// Returns true if all records of a segment, whose offsets end at `end`, have expired.
    fn has_expired(&self, segment: &Segment, end: Offset) -> Result<bool, StorageError> {
        let Some(oldest) = self.oldest() else { return Ok(false) };
        let facts = segment.facts(end)?;
        Ok(self.newest(facts.sealed_at, facts.max_timestamp) < oldest)
    }

    /// Returns true if all records of the active segment have expired.
    fn has_expired_entirely(&self, active: &Active) -> bool {
        let newest = self.newest(active.last_append(), active.max_timestamp());
        self.oldest().is_some_and(|oldest| newest < oldest)
    }

    /// Returns true if the segments after the first have at least the size that the topic retains.
    fn is_too_large(&self, segments: &Segments) -> Result<bool, StorageError> {
        let Some(size_max) = self.config.retention_size else { return Ok(false) };
        if !self.config.cleanup_policy.delete {
            return Ok(false);
        }
        let rest = segments.iter().skip(1).map(|segment| segment.size());
        Ok(rest.sum::<Result<u64, _>>()? >= size_max.0)
    }

    /// The time from which the age of a segment is measured. `stored` is the time at which the
    /// segment was rolled or, for the active segment, the time of its last append.
    fn newest(&self, stored: Timestamp, max_timestamp: Timestamp) -> Timestamp {
        match self.config.retention_clock {
            RetentionClock::Record if max_timestamp != Timestamp::NONE => max_timestamp,
            RetentionClock::Record | RetentionClock::Broker => stored.max(max_timestamp),
        }
    }
}

impl<'log> Retention<'log> {
    /// The retention of the log with this tail and these flushes.
    pub(super) fn new(
        flushes: Flushes<'log>,
        tail: &'log TailLock,
        removed_files: &'log RemovedFiles,
    ) -> Self {
        Self { flushes, tail, removed_files }
    }

    /// Removes the segments that the topic's settings let expire at `now`, and those below the log
    /// start. Nothing at or above `below`, usually the high watermark, is removed. An active
    /// segment with only expired records is rolled first, so that it can be removed too.
    ///
    /// The files are renamed at once and deleted by `remove_deleted`.
    pub fn delete_expired(self, now: Timestamp, below: Offset) -> Result<Removed, StorageError> {
        // The hold is kept throughout, so that only one pass runs at a time.
        let hold = self.removed_files.hold();
        let rules = self.rules_at(now);
        self.roll_expired(&rules, below)?;
        self.delete_first(hold, below, |segments| {
            Ok(self.is_before_start(segments)
                || rules.has_expired(&segments[0], segments[1].base())?
                || rules.is_too_large(segments)?)
        })
    }

    /// An estimate, for operators, of the segments that `delete_expired` would remove for their
    /// age. The active segment is not counted.
    pub fn expired(self, now: Timestamp, below: Offset) -> Result<Removed, StorageError> {
        let rules = self.rules_at(now);
        let mut expired = Removed::default();
        for pair in self.tail.segments().windows(2) {
            let (first, next) = (&pair[0], &pair[1]);
            if next.base() > below || !rules.has_expired(first, next.base())? {
                break;
            }
            expired.segments += 1;
            expired.bytes += first.size()?;
        }
        Ok(expired)
    }

    /// Removes the segments below the log start, whatever the topic's settings and the clock, for
    /// `DeleteRecords` (KIP-107). `below` is as for `delete_expired`.
    pub fn delete_before_start(self, below: Offset) -> Result<Removed, StorageError> {
        let hold = self.removed_files.hold();
        self.delete_first(hold, below, |segments| Ok(self.is_before_start(segments)))
    }

    /// Removes the oldest segment, whatever the topic's settings. `below` is as for
    /// `delete_expired`.
    pub(in crate::storage) fn delete_oldest(self, below: Offset) -> Result<Removed, StorageError> {
        let hold = self.removed_files.hold();
        let oldest = self.tail.segments().first().map(|first| first.base());
        let is_oldest = |segments: &Segments| Some(segments[0].base()) == oldest;
        self.delete_first(hold, below, |segments| Ok(is_oldest(segments)))
    }

    /// Removes the first segment, repeatedly, while `is_unwanted` returns true for it. Its files
    /// are renamed before the log start advances, so that at every moment either its records can be
    /// read or its space is being freed.
    fn delete_first(
        self,
        mut hold: SegmentsHold<'_>,
        below: Offset,
        is_unwanted: impl Fn(&Segments) -> Result<bool, StorageError>,
    ) -> Result<Removed, StorageError> {
        let mut removed = Removed::default();
        let outcome = self.unlink_unwanted(&mut hold, below, is_unwanted, &mut removed);
        if removed.segments > 0
            && let Some(first) = self.tail.segments().first()
        {
            // Use the base of the first segment and not the log start, which is not durable yet:
            // the records between them still exist. Until the history tells it, the removed names
            // show a start after a crash that the segments were not lost, so keep the hold.
            self.tail.epochs().advance_start(first.base());
        }
        drop(hold);
        outcome.map(|()| removed)
    }

    fn unlink_unwanted(
        self,
        hold: &mut SegmentsHold<'_>,
        below: Offset,
        is_unwanted: impl Fn(&Segments) -> Result<bool, StorageError>,
        removed: &mut Removed,
    ) -> Result<(), StorageError> {
        let context = self.tail.context();
        let delay = context.config.load().file_delete_delay;
        while let Some((segment, end)) = self.first_unwanted(below, &is_unwanted)? {
            let size = segment.size()?;
            // The start of the history of epochs must advance too: otherwise it would tell of
            // records that were lost, once the removed names are gone.
            self.tail.ensure_loaded()?;
            let names = self.tail.lock().unlink_first(&segment, end)?;
            hold.add(&segment, names, context.clock.monotonic().saturating_add(delay));
            removed.segments += 1;
            removed.bytes += size;
            context.sync_names()?;
        }
        Ok(())
    }

    /// The first segment and its end offset, if it must be removed.
    fn first_unwanted(
        self,
        below: Offset,
        is_unwanted: impl Fn(&Segments) -> Result<bool, StorageError>,
    ) -> Result<Option<(Arc<Segment>, Offset)>, StorageError> {
        let segments = self.tail.segments();
        let [first, next, ..] = &*segments else { return Ok(None) };
        let end = next.base();
        if end > below.min(self.tail.view().flushed()) || !is_unwanted(&segments)? {
            return Ok(None);
        }
        Ok(Some((Arc::clone(first), end)))
    }

    /// Returns true if no reader can reach the first segment any more.
    fn is_before_start(self, segments: &Segments) -> bool {
        segments.next_base(0).is_some_and(|next| next <= self.tail.view().log_start())
    }

    /// Rolls to a new segment if all records of the active one have expired.
    fn roll_expired(self, rules: &Rules, below: Offset) -> Result<(), StorageError> {
        if rules.oldest().is_none() {
            return Ok(());
        }
        let is_rolled = self
            .tail
            .writable()?
            .roll_expired(below, |active| rules.has_expired_entirely(active))?;
        if is_rolled {
            // The new segment must be durable before the old one is removed.
            self.flushes.flush()?;
        }
        Ok(())
    }

    /// Deletes the files of removed segments that are due at `now`, by the monotonic clock. They
    /// are closed even if readers still use them, because an open file would keep its space. A
    /// failed deletion is tried again later.
    pub fn remove_deleted(self, now: Duration) -> Result<(), StorageError> {
        self.removed_files.delete_due(self.tail.context(), now)
    }

    /// The time at which the next file is due for deletion, by the monotonic clock; `None` if there
    /// is none.
    pub fn removal_due(self) -> Option<Duration> {
        self.removed_files.next_due()
    }

    /// The end offset of the first segment; `None` if it is the only one.
    #[cfg(any(test, feature = "internals"))]
    pub fn first_segment_end(self) -> Option<Offset> {
        self.tail.segments().next_base(0)
    }

    /// The log start offset that results from a request to start at `to`: never below the current
    /// start. All records below are durable on return, so that a restart does not find the start
    /// beyond the end.
    ///
    /// # Errors
    /// `OffsetOutOfRange` beyond the log end.
    pub(in crate::storage) fn start_at(self, to: Offset) -> Result<Offset, StorageError> {
        let view = self.tail.view();
        let (start, end) = (view.log_start(), view.log_end());
        if to > end {
            let partition = view.context().partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: to, start, end });
        }
        if to > view.flushed() {
            self.flushes.flush()?;
        }
        Ok(view.log_start().max(to.min(view.flushed())))
    }

    /// Advances the log start to `to`, if it is lower, and returns the new start. The caller
    /// records it durably; `delete_before_start` removes the segments below.
    ///
    /// # Errors
    /// `OffsetOutOfRange` beyond the log end.
    pub fn advance_log_start(self, to: Offset) -> Result<Offset, StorageError> {
        let start = self.start_at(to)?;
        Ok(self.tail.lock().advance_start(start))
    }

    /// The rules that the topic has now.
    fn rules_at(self, now: Timestamp) -> Rules {
        Rules { config: self.tail.context().config.load_full(), now }
    }
}
