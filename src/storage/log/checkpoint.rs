//! Checkpoints: the offsets from which a restart recovers, and the files they refer to.

use std::sync::{Arc, PoisonError};

use crate::storage::log::Log;
use crate::storage::log::tail::{Active, Pending, State};
use crate::storage::segments::{HeaderDigest, Seal, Segment};
use crate::storage::{
    ActiveProducer, ProducerStates, StorageError, retain_snapshots, write_snapshot,
};
use crate::types::Offset;

/// The offsets from which a restart after a crash begins to read. Recorded about every second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointOffsets {
    /// The first offset that can be read.
    pub log_start: Offset,
    /// All records below are durable: a bad batch there is damage, above it a torn write.
    pub durable: Offset,
    /// Indexes and producer states are durable up to this offset.
    pub rebuild: Offset,
}

/// The number of bytes above the rebuild point at which it advances: a restart reads them again in
/// well below a second.
const BYTES_TO_REBUILD: u64 = 64 << 20;

impl Log {
    /// The current offsets.
    pub fn checkpoint_offsets(&self) -> CheckpointOffsets {
        let durable = self.flushed_offset();
        let log_start = self.log_start_offset();
        CheckpointOffsets { log_start, durable, rebuild: self.rebuild.get().min(durable) }
    }

    /// Advances the rebuild point if enough was appended or a segment was rolled, and returns the
    /// current offsets. Blocks on the disk without delaying appends.
    pub fn checkpoint(&self) -> Result<CheckpointOffsets, StorageError> {
        let tail = self.lock_tail();
        let is_due = tail.bytes_to_rebuild >= BYTES_TO_REBUILD || !tail.unsealed.is_empty();
        let is_due = is_due && tail.state != State::Abandoned;
        drop(tail);
        self.store_damages();
        if is_due {
            self.move_rebuild_point()?;
        }
        Ok(self.checkpoint_offsets())
    }

    /// Removes the idempotent producers that have been inactive for too long.
    pub fn expire_producers(&self) {
        let now = self.context.clock.monotonic();
        self.lock_tail().producers.expire(now);
    }

    /// The idempotent producers of which the log keeps state.
    pub fn active_producers(&self) -> Vec<ActiveProducer> {
        let now = self.context.clock.monotonic();
        self.lock_tail().producers.active(now)
    }

    /// Flushes everything and writes the files that let the log be opened as clean, between the
    /// offsets returned. The log accepts no more records, and can still be read.
    pub fn close(&self) -> Result<CheckpointOffsets, StorageError> {
        let mut tail = self.lock_tail();
        let was_open = tail.state == State::Open;
        if matches!(tail.state, State::Open | State::NotLoaded) {
            tail.state = State::Closed;
        }
        drop(tail);
        self.flush()?;
        if was_open {
            self.move_rebuild_point()?;
        }
        Ok(self.checkpoint_offsets())
    }

    /// Ends the log of a deleted topic, whatever its state: unflushed records stay unflushed, and
    /// nothing is written, since the disk may be full. Waits for a flush under way.
    pub(in crate::storage) fn abandon(&self) {
        let _flush_guard = self.flush_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tail = self.lock_tail();
        tail.state = State::Abandoned;
        tail.pending = Pending::default();
    }

    fn move_rebuild_point(&self) -> Result<(), StorageError> {
        let mut tail = self.lock_tail();
        let point = tail.next_offset;
        let Some(active) = &mut tail.active else { return Ok(()) };
        let digests = active.digests.grown().unwrap_or_default();
        let seal = Seal {
            sealed_at: self.context.clock.now(),
            max_timestamp: active.indexer.max_timestamp(),
            next_offset: point,
            size: active.size,
        };
        let active = Arc::clone(&active.segment);
        let producers = tail.producers.clone();
        let generation = tail.generation;
        let left = tail.unsealed.clone();
        let bytes = std::mem::take(&mut tail.bytes_to_rebuild);
        // Appends must not wait for these writes, so the lock is released meanwhile.
        drop(tail);
        let written = left
            .iter()
            .try_for_each(|segment| segment.write_seal())
            .and_then(|()| active.write_indexes(true))
            .and_then(|()| self.checkpoint_digests(&active, (&seal, &digests), generation))
            .and_then(|()| self.write_producers(point, &producers));
        let mut tail = self.lock_tail();
        if written.is_err() {
            tail.bytes_to_rebuild += bytes;
            return written;
        }
        tail.unsealed.retain(|segment| !left.iter().any(|sealed| Arc::ptr_eq(sealed, segment)));
        if tail.generation == generation {
            self.rebuild.set(point);
        }
        Ok(())
    }

    /// Writes the digests of the active segment, unless it was rolled or truncated meanwhile:
    /// digests of replaced batches would make the new ones look damaged.
    fn checkpoint_digests(
        &self,
        segment: &Arc<Segment>,
        (seal, digests): (&Seal, &[HeaderDigest]),
        generation: u64,
    ) -> Result<(), StorageError> {
        // Truncation takes this lock too, so the segment cannot change before the write.
        let _segments = self.hold_segments();
        let tail = self.lock_tail();
        let is_active = |active: &Active| Arc::ptr_eq(&active.segment, segment);
        let is_unchanged =
            tail.generation == generation && tail.active.as_ref().is_some_and(is_active);
        drop(tail);
        if !is_unchanged || digests.is_empty() {
            return Ok(());
        }
        segment.checkpoint_digests(seal, digests)
    }

    /// Writes a snapshot, and keeps the snapshot of the current rebuild point: the new one is valid
    /// only once everything below it is flushed.
    fn write_producers(
        &self,
        point: Offset,
        producers: &ProducerStates,
    ) -> Result<(), StorageError> {
        let (disk, dir) = (&*self.context.disk, &self.context.dir);
        let kept = self.rebuild.get();
        write_snapshot(disk, dir, point, producers)
            .and_then(|()| retain_snapshots(disk, dir, |offset| offset == point || offset == kept))
            .map_err(|error| self.context.refused("write the producers of", error))
    }
}
