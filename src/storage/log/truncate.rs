//! Truncation of a log, as by a follower whose leader never had the last records, or has removed
//! all records that the follower has.
//!
//! The tail's lock is held while the disk syncs: a follower's log has a single writer, which must
//! not append before the truncation is durable.

use std::sync::MutexGuard;

use crate::storage::compacted::Compacted;
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::tail::{Cut, Segments, Tail};
use crate::storage::log::tail_lock::TailLock;
use crate::storage::recovery::discard_snapshots;
use crate::storage::segments::LogEnd;
use crate::storage::{StorageError, recovery};
use crate::types::{LeaderEpoch, Offset};

/// Truncates a log.
#[derive(Clone, Copy, Debug)]
pub struct Truncator<'log> {
    tail: &'log TailLock,
    removed_files: &'log RemovedFiles,
}

impl<'log> Truncator<'log> {
    /// Truncates the log with this tail.
    pub(super) fn new(tail: &'log TailLock, removed_files: &'log RemovedFiles) -> Self {
        Self { tail, removed_files }
    }

    /// Truncates the log to `to` or, if that is within a batch, to the start of the batch. The
    /// truncation is durable on return; returns the new end.
    ///
    /// The caller must first have lowered the recorded offsets of the log (see
    /// `directory/checkpoints.rs`) to `to`, durably: with higher offsets, a crash half-way would
    /// look like damage.
    ///
    /// # Errors
    /// `OffsetOutOfRange` below the log start. If the disk fails half-way, the log accepts no more
    /// records until it is recovered.
    #[cfg(any(test, feature = "internals"))]
    pub fn cut(self, to: Offset) -> Result<Offset, StorageError> {
        let _segments = self.removed_files.hold();
        self.truncate_tail(self.tail.writable()?, to)
    }

    /// As `cut`, for a log that follows in a leader epoch.
    ///
    /// # Errors
    /// `EpochMismatch` if the log does not follow in that epoch: the truncation was decided before
    /// the role changed.
    pub(in crate::storage) fn cut_in(
        self,
        epoch: LeaderEpoch,
        to: Offset,
    ) -> Result<Offset, StorageError> {
        // Take this lock before the tail's: a segment that is being replaced must not be truncated.
        let _segments = self.removed_files.hold();
        self.truncate_tail(self.tail.in_epoch(epoch)?, to)
    }

    fn truncate_tail(
        self,
        mut tail: MutexGuard<'_, Tail>,
        to: Offset,
    ) -> Result<Offset, StorageError> {
        let (start, end) = (self.tail.view().log_start(), tail.next_offset());
        if to >= end {
            if tail.active_segment().is_some() {
                // The history may hold epochs of leaders that appended nothing. This log's leader
                // may lack these epochs, and would report the log as diverging for ever
                // (KAFKA-10706).
                self.tail.epochs().truncate_to(end)?;
            }
            return Ok(end);
        }
        let partition = self.tail.context().partition.clone();
        let out_of_range = StorageError::OffsetOutOfRange { partition, offset: to, start, end };
        if to < start {
            return Err(out_of_range);
        }
        let segments = self.tail.segments();
        let cut = Cut::locate(&segments, to)?;
        if cut.end < start {
            return Err(out_of_range);
        }
        let done = self.truncate_files(&mut tail, &segments, &cut);
        if let Err(error) = &done {
            tail.fail_truncation(error);
        }
        done.map(|()| cut.end)
    }

    /// Removes all records, and continues at `at`. Durable on return, except for the new log start:
    /// until the caller has recorded it, a crash may leave old records, or an empty log at the old
    /// start.
    ///
    /// The caller must first have lowered the recorded offsets of the log, durably: none may be
    /// above `at` or above the log start.
    ///
    /// # Errors
    /// `EpochMismatch` unless the log follows in this leader epoch. If the disk fails half-way, the
    /// log accepts no more records until it is recovered.
    pub fn start_over(self, epoch: LeaderEpoch, at: Offset) -> Result<(), StorageError> {
        // Take this lock before the tail's: a segment that is being replaced must not be removed.
        let _segments = self.removed_files.hold();
        let mut tail = self.tail.in_epoch(epoch)?;
        let segments = self.tail.segments();
        tail.begin_start_over(at);
        let done = self.remove_files(&segments);
        match &done {
            Ok(()) => tail.finish_start_over(at),
            Err(error) => tail.fail_truncation(error),
        }
        done
    }

    /// Removes all segments, and then the files that describe them. In this order, a crash leaves
    /// no segment without its epochs, damages and gaps.
    fn remove_files(self, segments: &Segments) -> Result<(), StorageError> {
        for segment in segments.iter().rev() {
            segment.retire();
            segment.remove()?;
        }
        let context = self.tail.context();
        context.sync_names()?;
        self.tail.epochs().truncate_to(Offset::ZERO)?;
        discard_snapshots(context, Offset::ZERO)?;
        self.forget_findings(LogEnd { segment: Offset::ZERO, position: 0, offset: Offset::ZERO })
    }

    /// Forgets the damages, skipped damages and gaps beyond the end of the log.
    fn forget_findings(self, end: LogEnd) -> Result<(), StorageError> {
        let context = self.tail.context();
        let (disk, dir) = (&*context.disk, &*context.dir);
        context
            .damages
            .truncate(disk, dir, end)
            .map_err(|error| context.refused("note the damages of", error))?;
        context
            .skips
            .truncate(disk, dir, end.offset)
            .map_err(|error| context.refused("note the skipped damage of", error))?;
        Compacted::truncate(disk, dir, end.offset)
            .map_err(|error| context.refused("note the compaction of", error))
    }

    /// Returns true if a truncation failed half-way: the log must be recovered.
    pub(in crate::storage) fn is_half_truncated(self) -> bool {
        self.tail.lock().is_half_truncated()
    }

    /// Returns true if a recovery makes the log usable again.
    pub(in crate::storage) fn is_recoverable(self) -> bool {
        self.tail.lock().is_recoverable()
    }

    /// The offset at which a truncation to `to` would end the log: the start of the batch that
    /// contains it.
    pub fn point(self, to: Offset) -> Result<Offset, StorageError> {
        if to >= self.tail.view().log_end() {
            return Ok(to);
        }
        Cut::locate(&self.tail.segments(), to).map(|cut| cut.end)
    }

    fn truncate_files(
        self,
        tail: &mut Tail,
        segments: &Segments,
        cut: &Cut,
    ) -> Result<(), StorageError> {
        tail.begin_truncation(segments, cut);
        for later in segments[cut.number + 1..].iter().rev() {
            // A segment that is created later may have the same name.
            later.retire();
            later.remove()?;
        }
        let last = &segments[cut.number];
        let digests = tail.digests_below(last, cut.position)?;
        last.truncate(cut.position, cut.end)?;
        last.sync()?;
        // Entries of removed batches would be mistaken for those of batches appended later.
        last.write_indexes(true)?;
        let context = self.tail.context();
        context.sync_names()?;
        self.tail.epochs().truncate_to(cut.end)?;
        discard_snapshots(context, cut.end)?;
        let end = LogEnd { segment: last.base(), position: cut.position, offset: cut.end };
        self.forget_findings(end)?;
        let kept = &segments[..=cut.number];
        let producers = recovery::load_producers(context, kept, cut.end)?;
        tail.finish_truncation(cut, digests, producers)
    }
}
