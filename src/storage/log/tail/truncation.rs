//! The place of a truncation, and the change that it makes to the end of the log.

use std::sync::Arc;

use crate::storage::log::tail::active::Active;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::log::tail::segment_list::Segments;
use crate::storage::log::tail::unsynced::Unsynced;
use crate::storage::segments::{HeaderDigests, Segment};
use crate::storage::{ProducerStates, StorageError};
use crate::types::Offset;

/// The place at which a log is truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage::log) struct Cut {
    /// The number of the last segment that stays.
    pub(in crate::storage::log) number: usize,
    /// The position at which this segment ends.
    pub(in crate::storage::log) position: u64,
    /// The offset at which the log ends.
    pub(in crate::storage::log) end: Offset,
}

impl Cut {
    /// The place of a truncation to `to`, which must lie below the log end.
    pub(in crate::storage::log) fn locate(
        segments: &Segments,
        to: Offset,
    ) -> Result<Self, StorageError> {
        let number = segments.number_of(to);
        let segment = &segments[number];
        let position = match segment.locate(to)? {
            Some(batch) => batch.position,
            None => segment.size()?,
        };
        // Compaction may have left a gap before `to`: the log then ends before the gap.
        let before = segment.end_at(position)?.1;
        let end = before.map_or(segment.base(), |before| before.summary.next_offset());
        Ok(Self { number, position, end })
    }
}

impl Tail {
    /// Makes the log end at a cut for all readers and flushes; its files are truncated afterwards.
    pub(in crate::storage::log) fn begin_truncation(&mut self, segments: &Segments, cut: &Cut) {
        // From here on no reader is led to the removed records, and no flush under way publishes
        // them.
        self.generation += 1;
        self.view.offsets.truncate(cut.end);
        self.view.segments.set(segments[..=cut.number].to_vec());
    }

    /// Makes the log empty for all readers and flushes, beginning and ending at `at`; its files are
    /// removed afterwards.
    pub(in crate::storage::log) fn begin_start_over(&mut self, at: Offset) {
        self.generation += 1;
        self.view.offsets.start_over(at);
        self.view.segments.set(Vec::new());
    }

    /// Continues an emptied log, once its files are removed. The first append creates a segment.
    pub(in crate::storage::log) fn finish_start_over(&mut self, at: Offset) {
        self.active = None;
        self.next_offset = at;
        self.producers = ProducerStates::new(self.view.context.producers);
        self.unsynced = Unsynced::default();
        self.unrecorded.truncate(Offset::ZERO);
    }

    /// The digests of a segment that is about to be truncated to `size` and grow again.
    pub(in crate::storage::log) fn digests_below(
        &self,
        segment: &Arc<Segment>,
        size: u64,
    ) -> Result<HeaderDigests, StorageError> {
        let mut digests = match self.active(segment) {
            Some(active) => active.digests.clone(),
            None => HeaderDigests::resumed(segment.digests()?.to_vec()),
        };
        digests.truncate(size);
        Ok(digests)
    }

    /// Continues the log at a cut, once the files are truncated.
    pub(in crate::storage::log) fn finish_truncation(
        &mut self,
        cut: &Cut,
        digests: HeaderDigests,
        producers: ProducerStates,
    ) -> Result<(), StorageError> {
        let context = &self.view.context;
        let kept = self.view.segments.snapshot();
        let Some(last) = kept.last() else { return Ok(()) };
        self.active = Some(Active {
            indexer: last.end_at(cut.position)?.0,
            digests,
            segment: Arc::clone(last),
            size: cut.position,
            began: context.clock.monotonic(),
            last_append: context.clock.now(),
        });
        self.producers = producers;
        self.next_offset = cut.end;
        self.unrecorded.truncate(last.base());
        // Segments of a discarded flush are unsynced again, and so is a segment that ends at the
        // flushed offset: a failed write may have left bytes after its end.
        let flushed = self.view.offsets.flushed();
        let dirty = kept.windows(2).filter(|pair| pair[1].base() >= flushed);
        let dirty = dirty.map(|pair| Arc::clone(&pair[0])).collect();
        self.unsynced.set_segments(dirty);
        self.unsynced.forget_records();
        if flushed < cut.end {
            let records = cut.end.since(flushed).cast_unsigned();
            self.unsynced.add_records(records, 0, context.clock.monotonic());
        }
        Ok(())
    }
}
