//! Truncation of a log, as by a follower whose leader never had the last records.
//!
//! The tail's lock is held while the disk syncs: a follower's log has a single writer, which must
//! not append before the truncation is durable.

use std::sync::Arc;

use crate::storage::compacted::Compacted;
use crate::storage::log::Log;
use crate::storage::log::tail::{Active, Failure, Pending, State, Tail};
use crate::storage::recovery::discard_snapshots;
use crate::storage::segments::{HeaderDigests, Segment};
use crate::storage::{StorageError, recovery};
use crate::types::Offset;

impl Log {
    /// Truncates the log to `to` or, if that is within a batch, to the start of the batch. The
    /// truncation is durable on return; returns the new end.
    ///
    /// The caller has durably recorded offsets that are not above `to`: with higher ones a crash
    /// half-way would look like damage.
    ///
    /// # Errors
    /// `OffsetOutOfRange` below the log start. If the disk fails half-way, the log accepts no more
    /// records until it is opened again.
    #[cfg(any(test, feature = "internals"))]
    pub fn truncate(&self, to: Offset) -> Result<Offset, StorageError> {
        // Take this lock before the tail's: a segment that is being replaced must not be truncated.
        let _segments = self.hold_segments();
        let mut tail = self.writable_tail()?;
        let (start, end) = (self.log_start_offset(), tail.next_offset);
        if to >= end {
            return Ok(end);
        }
        if to < start {
            let partition = self.context.partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: to, start, end });
        }
        let segments = self.segments.load_full();
        let (number, position, new_end) = locate_truncation(&segments, to)?;
        if new_end < start {
            let partition = self.context.partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: to, start, end });
        }
        let done = self.truncate_tail(&mut tail, &segments, (number, position, new_end));
        if let Err(error) = &done {
            tail.state = State::Failed(Failure::half_way(error));
        }
        done.map(|()| new_end)
    }

    /// The offset at which a truncation to `to` would end the log: the start of the batch that
    /// contains it.
    #[cfg(any(test, feature = "internals"))]
    pub fn truncation_point(&self, to: Offset) -> Result<Offset, StorageError> {
        if to >= self.log_end_offset() {
            return Ok(to);
        }
        locate_truncation(&self.segments.load(), to).map(|(_, _, end)| end)
    }

    #[cfg(any(test, feature = "internals"))]
    fn truncate_tail(
        &self,
        tail: &mut Tail,
        segments: &[Arc<Segment>],
        (number, position, end): (usize, u64, Offset),
    ) -> Result<(), StorageError> {
        // From here on no reader is led to the removed records, and no flush under way publishes
        // them.
        tail.generation += 1;
        let flushed = self.flushed_offset().min(end);
        self.offsets.flushed.set(flushed);
        self.offsets.log_end.set(end);
        self.rebuild.set(self.rebuild.get().min(end));
        let kept = segments[..=number].to_vec();
        self.segments.store(Arc::new(kept.clone()));
        for later in segments[number + 1..].iter().rev() {
            // The segment that is created next may have the same name.
            later.retire();
            later.remove()?;
        }
        let active = &kept[number];
        let digests = active_digests(tail, active, position)?;
        active.truncate(position, end)?;
        active.sync()?;
        // Entries of removed batches would be mistaken for those of batches appended later.
        active.write_indexes(true)?;
        self.context.sync_names()?;
        self.lock_epochs()
            .truncate_to(end)
            .map_err(|error| self.context.refused("cut the epochs of", error))?;
        discard_snapshots(&self.context, end)?;
        let place = (&*self.context.disk, &*self.context.dir);
        let damages = self.context.damages.truncate(place, (active.base(), position), end);
        damages.map_err(|error| self.context.refused("note the damages of", error))?;
        let skips = self.context.skips.truncate((&*self.context.disk, &self.context.dir), end);
        skips.map_err(|error| self.context.refused("note the skipped damage of", error))?;
        Compacted::truncate(&*self.context.disk, &self.context.dir, end)
            .map_err(|error| self.context.refused("note the compaction of", error))?;
        let limits = (end, self.producer_limits);
        tail.producers = recovery::load_producers(&self.context, &kept, limits)?;
        tail.active = Some(Active {
            indexer: active.end_at(position)?.0,
            digests,
            segment: Arc::clone(active),
            size: position,
            began: self.context.clock.monotonic(),
            last_append: self.context.clock.now(),
        });
        tail.next_offset = end;
        tail.unsealed.retain(|segment| segment.base() < active.base());
        // Segments of a discarded flush are dirty again, and so is a segment that ends at the
        // flushed offset: a failed write may have left bytes after its end.
        let is_dirty = |pair: &[Arc<Segment>]| pair[1].base() >= flushed;
        let dirty = kept.windows(2).filter(|pair| is_dirty(pair));
        tail.dirty = dirty.map(|pair| Arc::clone(&pair[0])).collect();
        tail.pending = Pending::default();
        if flushed < end {
            let records = end.since(flushed).cast_unsigned();
            tail.pending.add(records, 0, self.context.clock.monotonic());
        }
        Ok(())
    }
}

/// The digests of a segment that is about to be truncated to `size` and grow again.
#[cfg(any(test, feature = "internals"))]
fn active_digests(
    tail: &Tail,
    segment: &Arc<Segment>,
    size: u64,
) -> Result<HeaderDigests, StorageError> {
    let active = tail.active.as_ref().filter(|active| Arc::ptr_eq(&active.segment, segment));
    let mut digests = match active {
        Some(active) => active.digests.clone(),
        None => HeaderDigests::resumed(segment.digests()?.to_vec()),
    };
    digests.truncate(size);
    Ok(digests)
}

/// The index of the segment, the position in it and the offset at which a truncation to `to` ends
/// the log; `to` must lie below the log end.
#[cfg(any(test, feature = "internals"))]
fn locate_truncation(
    segments: &[Arc<Segment>],
    to: Offset,
) -> Result<(usize, u64, Offset), StorageError> {
    let number = segments.partition_point(|segment| segment.base() <= to).saturating_sub(1);
    let segment = &segments[number];
    Ok(match segment.locate(to)? {
        Some(batch) => {
            // Compaction may have left a gap before the batch: the log then ends before the gap.
            let before = segment.end_at(batch.position)?.1;
            let end = before.map_or(segment.base(), |before| before.summary.next_offset());
            (number, batch.position, end)
        }
        None => (number, segment.size()?, to),
    })
}
