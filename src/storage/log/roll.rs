//! Rolling to the next segment.
//!
//! The new file is created under the tail's lock, which costs as much as another write. The next
//! flush makes its name durable before anything in it counts as flushed. A crash in between loses
//! the name, and with it only records that were never acknowledged.

use std::sync::Arc;
use std::time::Duration;

use crate::io::Disk;
use crate::storage::log::Log;
use crate::storage::log::tail::{Active, Failure, State, Tail};
use crate::storage::segments::{HeaderDigests, Indexer, Segment};
use crate::storage::{LogConfig, StorageError};
use crate::types::{Offset, Timestamp};

impl Log {
    /// Rolls the active segment, if it is not empty, so that it can be compacted or deleted.
    #[cfg(any(test, feature = "internals"))]
    pub fn roll(&self, now: Timestamp) -> Result<(), StorageError> {
        let mut tail = self.writable_tail()?;
        if tail.active.as_ref().is_some_and(|active| active.size > 0) {
            self.roll_tail(&mut tail, now, &*self.context.disk)?;
        }
        Ok(())
    }

    /// Bytes of the active segment; 0 if there is none.
    pub(in crate::storage) fn active_size(&self) -> u64 {
        self.lock_tail().active.as_ref().map_or(0, |active| active.size)
    }

    /// Rolls the active segment if its first record is older than `age`. Returns true if it did.
    pub(in crate::storage) fn roll_older(
        &self,
        age: Duration,
        now: Timestamp,
    ) -> Result<bool, StorageError> {
        let elapsed = self.context.clock.monotonic();
        let mut tail = self.writable_tail()?;
        let is_old =
            |active: &Active| active.size > 0 && elapsed.saturating_sub(active.began) >= age;
        let is_old = tail.active.as_ref().is_some_and(is_old);
        if is_old {
            self.roll_tail(&mut tail, now, &*self.context.disk)?;
        }
        Ok(is_old)
    }

    /// Makes sure that the active segment can take this many more bytes, after which the log ends
    /// at `end`, and rolls if it cannot.
    pub(super) fn ensure_capacity(
        &self,
        tail: &mut Tail,
        (bytes, end): (u64, Offset),
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let Some(active) = &mut tail.active else {
            return self.roll_tail(tail, now, &*self.context.batches);
        };
        let elapsed = self.context.clock.monotonic();
        if active.size == 0 {
            active.began = elapsed;
            return Ok(());
        }
        let config = self.context.config.load();
        let age = elapsed.saturating_sub(active.began);
        let span = end.since(active.segment.base());
        let is_full = active.size + bytes > config.segment_size.0
            || age >= self.age_max(&config)
            || span > i32::MAX.into()
            || active.segment.index_size()? >= config.segment_index_size.0;
        if is_full { self.roll_tail(tail, now, &*self.context.batches) } else { Ok(()) }
    }

    /// Creates the segment that begins at the log end, on one of the log's disks, and activates it.
    pub(super) fn roll_tail(
        &self,
        tail: &mut Tail,
        now: Timestamp,
        disk: &dyn Disk,
    ) -> Result<(), StorageError> {
        // Even the removal of a name must be durable before more is acknowledged.
        tail.names_dirty = true;
        let created = Segment::create(&self.context, tail.next_offset, disk);
        if let Err(error @ StorageError::Failed { .. }) = &created {
            tail.state = State::Failed(Failure::half_way(error));
        }
        let segment = Arc::new(created?);
        if let Some(mut left) = tail.active.take() {
            let passed = (&mut left.indexer, &left.digests);
            left.segment.seal(passed, now, tail.next_offset);
            tail.dirty.push(Arc::clone(&left.segment));
            tail.unsealed.push(left.segment);
        }
        let mut segments = self.segments.load_full().to_vec();
        segments.push(Arc::clone(&segment));
        self.segments.store(Arc::new(segments));
        let interval = self.context.config.load().index_interval.0;
        tail.active = Some(Active {
            indexer: Indexer::new(segment.base(), interval),
            digests: HeaderDigests::default(),
            segment,
            size: 0,
            began: self.context.clock.monotonic(),
            last_append: now,
        });
        Ok(())
    }

    /// The age at which a segment rolls; each log subtracts a different part of the jitter.
    fn age_max(&self, config: &LogConfig) -> Duration {
        let name = self.context.partition.to_string();
        let part = f64::from(crc32c::crc32c(name.as_bytes())) / f64::from(u32::MAX);
        config.segment_age.saturating_sub(config.segment_jitter.mul_f64(part))
    }
}
