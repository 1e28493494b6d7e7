//! Rolling to the next segment.
//!
//! Creating the new file, under the tail's lock, takes about as long as a write. The next flush
//! makes its name durable before anything in it counts as flushed. A power failure in between
//! may lose the name, and with it only records that were never flushed.

use std::sync::Arc;
use std::time::Duration;

use crate::io::Disk;
use crate::storage::log::tail::active::Active;
use crate::storage::log::tail::append::Addition;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::segments::{HeaderDigests, Indexer, LogContext, Segment};
use crate::storage::{LogConfig, StorageError};
use crate::types::{Offset, Timestamp};

impl Tail {
    /// Rolls the active segment, if it is not empty, so that it can be compacted or deleted.
    #[cfg(any(test, feature = "internals"))]
    pub(in crate::storage::log) fn roll_if_filled(
        &mut self,
        now: Timestamp,
    ) -> Result<(), StorageError> {
        if self.active_size() > 0 { self.roll(now) } else { Ok(()) }
    }

    /// Bytes of the active segment; 0 if there is none.
    pub(in crate::storage::log) fn active_size(&self) -> u64 {
        self.active.as_ref().map_or(0, |active| active.size)
    }

    /// Rolls the active segment if `age` has passed since its first append or, if that is later,
    /// since the log was opened. Returns true if it did.
    pub(in crate::storage::log) fn roll_older(
        &mut self,
        age: Duration,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let elapsed = self.view.context.clock.monotonic();
        let is_old =
            |active: &Active| active.size > 0 && elapsed.saturating_sub(active.began) >= age;
        let is_old = self.active.as_ref().is_some_and(is_old);
        if is_old {
            self.roll(now)?;
        }
        Ok(is_old)
    }

    /// Rolls the active segment if all its records have expired and none is at or above `below`.
    /// Returns true if it did.
    pub(in crate::storage::log) fn roll_expired(
        &mut self,
        below: Offset,
        has_expired: impl Fn(&Active) -> bool,
    ) -> Result<bool, StorageError> {
        let expired = self.active.as_ref().filter(|active| active.size > 0 && has_expired(active));
        let Some(last_append) = expired.map(Active::last_append) else { return Ok(false) };
        if self.next_offset > below {
            return Ok(false);
        }
        // Seal the old segment with the time of its last append. With the current time it would be
        // kept for the whole retention time again.
        self.roll(last_append)?;
        Ok(true)
    }

    /// Rolls the active segment if it has damage that is not skipped, so that it can be repaired.
    /// Returns true if it did.
    pub(in crate::storage::log) fn roll_damaged(
        &mut self,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let context = &self.view.context;
        let is_damaged = |active: &Active| {
            let damages = active.segment.damages();
            active.size > 0 && damages.iter().any(|damage| !context.is_skipped(damage))
        };
        if !self.active.as_ref().is_some_and(is_damaged) {
            return Ok(false);
        }
        self.roll(now)?;
        Ok(true)
    }

    /// Makes sure that the active segment can take new batches, and rolls if it cannot.
    pub(super) fn ensure_capacity(
        &mut self,
        new: &Addition,
        now: Timestamp,
        config: &LogConfig,
    ) -> Result<(), StorageError> {
        let context = &self.view.context;
        let base = self.base_for(new);
        let Some(active) = &mut self.active else { return self.roll_to_append(now, base) };
        let elapsed = context.clock.monotonic();
        if active.size == 0 {
            active.began = elapsed;
            return Ok(());
        }
        let age = elapsed.saturating_sub(active.began);
        let span = new.next_offset.since(active.segment.base());
        let is_full = active.size + new.bytes > config.segment_size.0
            || age >= age_max(context, config)
            || span > i32::MAX.into()
            || active.segment.index_size()? >= config.segment_index_size.0;
        if is_full { self.roll_to_append(now, base) } else { Ok(()) }
    }

    /// The base offset of a segment that begins with new batches. It is the log end, even if there
    /// is a gap before the batches: with a higher base, a restart would raise the log start if the
    /// segment is the first one. Only if the gap and the new batches together are too long for the
    /// relative offsets of an index, the base is the offset of the first batch.
    fn base_for(&self, new: &Addition) -> Offset {
        let spans_index = new.next_offset.since(self.next_offset) > i32::MAX.into();
        if spans_index { new.base } else { self.next_offset }
    }

    /// Rolls to a new segment for batches from `base` on.
    fn roll_to_append(&mut self, now: Timestamp, base: Offset) -> Result<(), StorageError> {
        let view = Arc::clone(&self.view);
        self.begin_segment(base, now, &*view.context.batches)
    }

    /// Rolls to a new segment for upkeep. If the disk is full, the creation of its file may use the
    /// whole reserve.
    pub(super) fn roll(&mut self, now: Timestamp) -> Result<(), StorageError> {
        let view = Arc::clone(&self.view);
        self.begin_segment(self.next_offset, now, &*view.context.disk)
    }

    /// Creates the segment that begins at `base`, which is the log end or above it, and activates
    /// it. `disk` is `context.disk` or `context.batches`; it decides how much of the reserve the
    /// creation may use.
    fn begin_segment(
        &mut self,
        base: Offset,
        now: Timestamp,
        disk: &dyn Disk,
    ) -> Result<(), StorageError> {
        // Note before the creation that the directory must be synced: if the creation fails, even
        // the removal of the name must be durable before more is acknowledged.
        self.unsynced.note_names();
        let view = Arc::clone(&self.view);
        let created = Segment::create(&view.context, base, disk);
        if let Err(error @ StorageError::Failed { .. }) = &created {
            self.fail_half_way(error);
        }
        let segment = Arc::new(created?);
        if let Some(left) = self.active.take() {
            let left = left.seal(now, self.next_offset);
            self.unsynced.add_segment(Arc::clone(&left));
            self.unrecorded.add_segment(left);
        }
        view.segments.push(Arc::clone(&segment));
        let interval = view.context.config.load().index_interval.0;
        self.active = Some(Active {
            indexer: Indexer::new(segment.base(), interval),
            digests: HeaderDigests::default(),
            segment,
            size: 0,
            began: view.context.clock.monotonic(),
            last_append: now,
        });
        Ok(())
    }
}

/// The age at which a segment rolls; each log subtracts a different part of the jitter.
fn age_max(context: &LogContext, config: &LogConfig) -> Duration {
    let name = context.partition.to_string();
    let part = f64::from(crc32c::crc32c(name.as_bytes())) / f64::from(u32::MAX);
    config.segment_age.saturating_sub(config.segment_jitter.mul_f64(part))
}
