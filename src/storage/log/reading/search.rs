//! The search for the batches from an offset on, by their headers.
//!
//! Headers are not checked while they are walked. If the batch found has the wanted offset, the
//! check of this batch proves the answer. Otherwise the answer claims that nothing before the batch
//! has the offset, and counts only if everything that was passed over is verified too: a wrong base
//! offset or a lost batch would be taken for a gap.

use std::ops::Range;
use std::sync::Arc;

use crate::storage::log::reading::extent::{Extent, ReadLimit};
use crate::storage::log::tail::Segments;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{Located, Segment, Span};
use crate::storage::{OffsetUnit, StorageError};
use crate::types::Offset;

/// The batches found by a search.
pub(super) enum Found {
    /// These batches.
    Batches(Extent),
    /// There is a batch, but the limit on bytes does not allow it.
    NoRoom,
    /// No batch lies below the limit.
    Nothing,
}

/// The outcome of a search.
pub(super) struct Search {
    pub(super) found: Found,
    passed: Vec<Passed>,
}

/// Bytes of a segment that a search has passed over, because by their headers no batch in them has
/// the wanted records. They include the batch found behind them, so that a check compares it with
/// the batch before.
pub(super) struct Passed {
    pub(super) segment: Arc<Segment>,
    pub(super) bytes: Range<u64>,
}

/// The first batch that ends at or after an offset.
struct Place {
    segment: Arc<Segment>,
    batch: Located,
    /// The batches from this one on that the limit allows.
    found: Found,
}

/// The searches in a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Searches<'log> {
    tail: &'log TailLock,
}

impl Search {
    /// The bytes that are not verified although the outcome depends on them.
    pub(super) fn unverified(&self) -> impl Iterator<Item = &Passed> {
        // A reader without room learns nothing, and will come back.
        let counts = !matches!(self.found, Found::NoRoom);
        self.passed.iter().filter(move |passed| counts && !passed.is_verified())
    }

    pub(super) fn into_extent(self) -> Option<Extent> {
        match self.found {
            Found::Batches(extent) => Some(extent),
            Found::NoRoom | Found::Nothing => None,
        }
    }
}

impl Passed {
    fn new(segment: &Arc<Segment>, bytes: Range<u64>) -> Self {
        Self { segment: Arc::clone(segment), bytes }
    }

    /// Returns true if the bytes are verified, apart from known damage. An empty segment is not: it
    /// may have lost all its batches.
    fn is_verified(&self) -> bool {
        let verified = self.segment.verified();
        let Range { start: mut from, end } = self.bytes;
        let damages = self.segment.damages();
        if self.bytes.is_empty() {
            return damages.iter().any(|damage| damage.start == from);
        }
        for damage in damages {
            let until = damage.start.min(end);
            if !verified.covers(from, until.saturating_sub(from)) {
                return false;
            }
            from = from.max(damage.end);
        }
        verified.covers(from, end.saturating_sub(from))
    }
}

impl<'log> Searches<'log> {
    /// The searches in the log with this tail.
    pub(super) fn new(tail: &'log TailLock) -> Self {
        Self { tail }
    }

    /// The batches from the one that contains `from`, or the next one with records; all from one
    /// segment.
    pub(super) fn search(self, from: Offset, limit: ReadLimit) -> Result<Search, StorageError> {
        self.in_segments(|segments| self.search_in(segments, from, limit))
    }

    /// The batches from the one whose offsets include `offset`, or the next one, with or without
    /// records.
    pub(super) fn batch_of(self, offset: Offset, limit: ReadLimit) -> Result<Search, StorageError> {
        self.in_segments(|segments| {
            let mut passed = Vec::new();
            let place = self.find(segments, offset, limit, &mut passed)?;
            Ok(Search { found: place.map_or(Found::Nothing, |place| place.found), passed })
        })
    }

    /// Searches again if a segment was deleted after the list was loaded and before its file was
    /// read.
    fn in_segments(
        self,
        search: impl Fn(&Segments) -> Result<Search, StorageError>,
    ) -> Result<Search, StorageError> {
        loop {
            let segments = self.tail.segments();
            match search(&segments) {
                Err(StorageError::Io { .. }) if self.has_replaced(&segments) => {}
                Err(StorageError::Io { .. }) if self.tail.lock().is_abandoned() => {
                    let partition = self.tail.context().partition.clone();
                    return Err(StorageError::Closed { partition });
                }
                searched => return searched,
            }
        }
    }

    /// Returns true if the list of segments has changed. Retention renames a segment's files before
    /// it publishes the new list, both under the tail's lock, so take this lock before the
    /// comparison.
    fn has_replaced(self, segments: &Segments) -> bool {
        let _tail = self.tail.lock();
        !self.tail.view().is_current(segments)
    }

    fn search_in(
        self,
        segments: &Segments,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Search, StorageError> {
        let view = self.tail.view();
        let (start, end) = (view.log_start(), view.log_end());
        if from < start || from > end {
            let partition = self.tail.context().partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: from, start, end });
        }
        let (mut wanted, mut emptied, mut passed) = (from, Found::Nothing, Vec::new());
        while let Some(place) = self.find(segments, wanted, limit, &mut passed)? {
            let Place { segment, batch, found } = place;
            if batch.summary.record_count == 0 {
                if limit.keeps_emptied {
                    return Ok(Search { found, passed });
                }
                // A consumer that gets only batches without records would conclude that its limit
                // is too small.
                if matches!(emptied, Found::Nothing) {
                    emptied = found;
                }
            } else if !self.is_beyond_records(wanted, &batch) {
                return Ok(Search { found, passed });
            }
            passed.push(Passed::new(&segment, batch.position..batch.end()));
            wanted = batch.summary.next_offset();
        }
        Ok(Search { found: emptied, passed })
    }

    /// The batch that contains `from`, or the next one; `None` if there is none below the limit.
    /// Adds to `passed` the bytes on which this depends.
    fn find(
        self,
        segments: &Segments,
        from: Offset,
        limit: ReadLimit,
        passed: &mut Vec<Passed>,
    ) -> Result<Option<Place>, StorageError> {
        if from >= limit.below.min(self.tail.view().log_end()) {
            return Ok(None);
        }
        let first = segments.number_of(from);
        for (number, segment) in segments.iter().enumerate().skip(first) {
            if segment.base() >= limit.below {
                break;
            }
            let truncations = segment.truncations();
            let (walked, batch) = segment.walk_to(from)?;
            let Some(batch) = batch else {
                passed.push(Passed::new(segment, walked));
                continue;
            };
            if batch.summary.base_offset > from || batch.summary.last_offset >= limit.below {
                passed.push(Passed::new(segment, walked.start..batch.end()));
            }
            // Read the size before the end: an append publishes the end first, so every byte below
            // this size lies below this end. In the other order, the size could include a batch
            // above that end, which would be returned although it lies above the limit.
            let segment_size = segment.size()?;
            let segment_end = segments.next_base(number);
            let segment_end = segment_end.unwrap_or_else(|| self.tail.view().log_end());
            let span = Span {
                bytes_max: limit.max_bytes,
                below: limit.below,
                at_least_one: limit.at_least_one_batch,
                segment_size,
                segment_end,
            };
            let range = batch.position..segment.span_end(&batch, &span)?;
            let found = if !range.is_empty() {
                Found::Batches(Extent::of(segment, range, truncations))
            } else if limit.has_room_for(&batch) {
                Found::Nothing
            } else {
                Found::NoRoom
            };
            return Ok(Some(Place { segment: Arc::clone(segment), batch, found }));
        }
        Ok(None)
    }

    /// Returns true if an offset belongs to a batch but is beyond its records, as happens if
    /// offsets count bytes: the wanted records then begin with the next batch.
    fn is_beyond_records(self, offset: Offset, batch: &Located) -> bool {
        let end = batch.summary.base_offset.plus(batch.summary.record_count.into());
        offset >= end && self.tail.context().config.load().offset_unit == OffsetUnit::Byte
    }
}
