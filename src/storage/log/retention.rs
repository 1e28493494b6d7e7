//! Removal of the beginning of a log: by age, by size, or on request.
//!
//! Only whole segments are removed, the oldest first and each durably before the next, so that a
//! crash leaves no gap. The age of a segment is measured from its largest timestamp or from the
//! time of the last append, whichever is later: records loaded from an archive are kept as long as
//! those written today. With `retention.clock=record` only the timestamps count, as in Apache
//! Kafka. Nothing above the high watermark is removed, and nothing that is not flushed.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use crate::storage::log::Log;
use crate::storage::log::deleted_file::DeletedFile;
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

/// The pause before another attempt at a failed deletion.
const REMOVAL_PAUSE: Duration = Duration::from_mins(1);

impl Log {
    /// Removes the segments that the topic's settings let expire at `now`, and those below the log
    /// start. Nothing at or above `below`, usually the high watermark, is removed. An active
    /// segment with only expired records is rolled first, so that it can be removed too.
    ///
    /// The files are renamed at once and deleted by `remove_deleted`.
    pub fn delete_expired(&self, now: Timestamp, below: Offset) -> Result<Removed, StorageError> {
        // The guard is held throughout, so that only one pass runs at a time.
        let deleted = self.lock_deleted();
        let config = self.context.config.load_full();
        self.roll_expired(&config, now, below)?;
        self.delete_first(deleted, below, |segments| self.is_unwanted(segments, &config, now))
    }

    /// An estimate, for operators, of the segments that `delete_expired` would remove for their
    /// age. The active segment is not counted.
    pub fn expired(&self, now: Timestamp, below: Offset) -> Result<Removed, StorageError> {
        let config = self.context.config.load_full();
        let mut expired = Removed::default();
        for pair in self.segments.load_full().windows(2) {
            let (first, next) = (&pair[0], &pair[1]);
            if next.base() > below || !is_expired(first, next.base(), &config, now)? {
                break;
            }
            expired.segments += 1;
            expired.bytes += first.size()?;
        }
        Ok(expired)
    }

    /// Removes the segments below the log start, whatever the topic's settings and the clock, for
    /// `DeleteRecords` (KIP-107). `below` is as for `delete_expired`.
    pub fn delete_before_start(&self, below: Offset) -> Result<Removed, StorageError> {
        let deleted = self.lock_deleted();
        self.delete_first(deleted, below, |segments| Ok(self.is_before_start(segments)))
    }

    /// Removes the oldest segment, whatever the topic's settings. `below` is as for
    /// `delete_expired`.
    pub(in crate::storage) fn delete_oldest(&self, below: Offset) -> Result<Removed, StorageError> {
        let deleted = self.lock_deleted();
        let oldest = self.segments.load().first().map(|first| first.base());
        let is_oldest = |segments: &[Arc<Segment>]| Some(segments[0].base()) == oldest;
        self.delete_first(deleted, below, |segments| Ok(is_oldest(segments)))
    }

    /// Removes the first segment while it `is_unwanted`. Its files are renamed before the log start
    /// advances, so that at every moment either its records can be read or its space is being
    /// freed.
    fn delete_first(
        &self,
        mut deleted: MutexGuard<'_, Vec<DeletedFile>>,
        below: Offset,
        is_unwanted: impl Fn(&[Arc<Segment>]) -> Result<bool, StorageError>,
    ) -> Result<Removed, StorageError> {
        let delay = self.context.config.load().file_delete_delay;
        let mut removed = Removed::default();
        while let Some((segment, end)) = self.first_unwanted(below, &is_unwanted)? {
            let size = segment.size()?;
            let names = self.unlink_first(&segment, end)?;
            let due = self.context.clock.monotonic().saturating_add(delay);
            let file = |path| DeletedFile { path, due, segment: Arc::downgrade(&segment) };
            deleted.extend(names.into_iter().map(file));
            self.context.sync_names()?;
            removed.segments += 1;
            removed.bytes += size;
        }
        drop(deleted);
        if removed.segments > 0
            && let Some(first) = self.segments.load().first()
        {
            // Not from the log start: it is not durable yet, and the records before it still exist.
            let advanced = self.lock_epochs().advance_start(first.base());
            // Entries of removed records do no harm, and recovery drops them.
            advanced.unwrap_or_else(|error| {
                let partition = &self.context.partition;
                tracing::warn!(%partition, %error, "old epochs stay on disk");
            });
        }
        Ok(removed)
    }

    /// Deletes the files of removed segments that are due at `now`, by the monotonic clock. They
    /// are closed under readers that still use them, because an open file would keep its space. A
    /// failed deletion is tried again later.
    pub fn remove_deleted(&self, now: Duration) -> Result<(), StorageError> {
        let mut deleted = self.lock_deleted();
        let due: Vec<_> = deleted.extract_if(.., |file| file.due <= now).collect();
        drop(deleted);
        let mut refused = Ok(());
        for file in due {
            file.close();
            match self.context.disk.remove_file(&file.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    refused = Err(StorageError::io("remove", &file.path, error));
                    let due = self.context.clock.monotonic().saturating_add(REMOVAL_PAUSE);
                    self.lock_deleted().push(DeletedFile { due, ..file });
                }
                _ => {}
            }
        }
        refused
    }

    /// The time at which the next file is due for deletion, by the monotonic clock; `None` if there
    /// is none.
    pub fn removal_due(&self) -> Option<Duration> {
        self.lock_deleted().iter().map(|file| file.due).min()
    }

    pub(super) fn lock_deleted(&self) -> MutexGuard<'_, Vec<DeletedFile>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end offset of the first segment; `None` if it is the only one.
    #[cfg(any(test, feature = "internals"))]
    pub fn first_segment_end(&self) -> Option<Offset> {
        self.segments.load().get(1).map(|second| second.base())
    }

    /// The log start offset that results from a request to start at `to`: never below the current
    /// start. All records below are durable on return, so that a restart does not find the start
    /// beyond the end.
    ///
    /// # Errors
    /// `OffsetOutOfRange` beyond the log end.
    pub(in crate::storage) fn start_at(&self, to: Offset) -> Result<Offset, StorageError> {
        let (start, end) = (self.log_start_offset(), self.log_end_offset());
        if to > end {
            let partition = self.context.partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: to, start, end });
        }
        if to > self.flushed_offset() {
            self.flush()?;
        }
        Ok(self.log_start_offset().max(to.min(self.flushed_offset())))
    }

    /// Advances the log start to `to`, if it is lower, and returns the new start. The caller
    /// records it durably; `delete_before_start` removes the segments below.
    ///
    /// # Errors
    /// `OffsetOutOfRange` beyond the log end.
    pub fn advance_log_start(&self, to: Offset) -> Result<Offset, StorageError> {
        let start = self.start_at(to)?;
        let _tail = self.lock_tail();
        let start = self.log_start_offset().max(start);
        self.offsets.log_start.set(start);
        Ok(start)
    }

    /// Rolls to a new segment if all records of the active one have expired.
    fn roll_expired(
        &self,
        config: &LogConfig,
        now: Timestamp,
        below: Offset,
    ) -> Result<(), StorageError> {
        let Some(age) = config.retention.filter(|_| config.cleanup_policy.delete) else {
            return Ok(());
        };
        let oldest = now.minus(age);
        let mut tail = self.writable_tail()?;
        let last_append = tail.active.as_ref().and_then(|active| {
            let newest = newest(config, active.last_append, active.indexer.max_timestamp());
            (active.size > 0 && newest < oldest).then_some(active.last_append)
        });
        if let Some(last_append) = last_append
            && tail.next_offset <= below
        {
            // Seal it with the time of its last append, not of now: otherwise it would be kept as
            // long again.
            self.roll_tail(&mut tail, last_append, &*self.context.disk)?;
            drop(tail);
            // The new segment must be durable before the old one is removed.
            self.flush()?;
        }
        Ok(())
    }

    /// The first segment and its end offset, if it must be removed.
    fn first_unwanted(
        &self,
        below: Offset,
        is_unwanted: impl Fn(&[Arc<Segment>]) -> Result<bool, StorageError>,
    ) -> Result<Option<(Arc<Segment>, Offset)>, StorageError> {
        let segments = self.segments.load_full();
        let [first, next, ..] = segments.as_slice() else { return Ok(None) };
        let end = next.base();
        if end > below.min(self.flushed_offset()) || !is_unwanted(&segments)? {
            return Ok(None);
        }
        Ok(Some((Arc::clone(first), end)))
    }

    /// Renames the files of the first segment and advances the log start to `end`, its end; or does
    /// neither. Returns the new names.
    fn unlink_first(
        &self,
        segment: &Arc<Segment>,
        end: Offset,
    ) -> Result<Vec<PathBuf>, StorageError> {
        // Held from the first rename to the new list: a reader that finds a name gone waits for the
        // lock.
        let mut tail = self.lock_tail();
        let names = segment.delete()?;
        // References in these lists would keep the segment's files open, and their space allocated.
        tail.unsealed.retain(|unsealed| !Arc::ptr_eq(unsealed, segment));
        tail.dirty.retain(|dirty| !Arc::ptr_eq(dirty, segment));
        self.offsets.log_start.set(self.log_start_offset().max(end));
        let mut rest = self.segments.load_full().to_vec();
        assert!(Arc::ptr_eq(&rest[0], segment), "only retention removes the first segment");
        rest.remove(0);
        self.segments.store(Arc::new(rest));
        Ok(names)
    }

    /// Returns true if no reader can reach the first segment any more.
    fn is_before_start(&self, segments: &[Arc<Segment>]) -> bool {
        segments.get(1).is_some_and(|next| next.base() <= self.log_start_offset())
    }

    /// Returns true if the first segment must be removed.
    fn is_unwanted(
        &self,
        segments: &[Arc<Segment>],
        config: &LogConfig,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let [first, next, ..] = segments else { return Ok(false) };
        if self.is_before_start(segments) {
            return Ok(true);
        }
        if is_expired(first, next.base(), config, now)? {
            return Ok(true);
        }
        if !config.cleanup_policy.delete {
            return Ok(false);
        }
        let Some(size_max) = config.retention_size else { return Ok(false) };
        Ok(self.size_bytes()?.saturating_sub(first.size()?) >= size_max.0)
    }
}

/// Returns true if all records of a segment, whose offsets end at `end`, have expired.
fn is_expired(
    segment: &Segment,
    end: Offset,
    config: &LogConfig,
    now: Timestamp,
) -> Result<bool, StorageError> {
    let Some(age) = config.retention.filter(|_| config.cleanup_policy.delete) else {
        return Ok(false);
    };
    let facts = segment.facts(end)?;
    Ok(newest(config, facts.sealed_at, facts.max_timestamp) < now.minus(age))
}

/// The time from which the age of a segment is measured, if its last append was at `stored`.
fn newest(config: &LogConfig, stored: Timestamp, max_timestamp: Timestamp) -> Timestamp {
    match config.retention_clock {
        RetentionClock::Record if max_timestamp != Timestamp::NONE => max_timestamp,
        RetentionClock::Record | RetentionClock::Broker => stored.max(max_timestamp),
    }
}
