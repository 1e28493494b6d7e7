//! Reads by offset: the location of the records in a file.

use std::ops::Range;
use std::sync::Arc;

use crate::io::FileRange;
use crate::storage::log::reading::checking::Checks;
use crate::storage::log::tail::Segments;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{FileKind, Located, Segment, Span};
use crate::storage::{OffsetUnit, StorageError};
use crate::types::Offset;

/// The limits of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// The maximum number of bytes.
    pub max_bytes: u64,
    /// The offset below which all batches must end, usually the high watermark.
    pub below: Offset,
    /// True if the first batch is returned whole even if it exceeds `max_bytes`, so that a reader
    /// with a small buffer makes progress (KIP-74).
    pub at_least_one_batch: bool,
}

/// A read fails once it has needed more checks of a segment than this.
pub(super) const CHECKS_MAX: usize = 3;

/// Whole batches of a segment.
#[derive(Clone, Debug)]
pub struct Extent {
    segment: Arc<Segment>,
    range: FileRange,
}

impl Extent {
    /// A range of a segment that was located after this number of truncations.
    pub(super) fn of(segment: &Arc<Segment>, range: Range<u64>, truncations: u64) -> Self {
        Self { segment: Arc::clone(segment), range: segment.range(range, truncations) }
    }

    /// Returns true if its bytes are in memory, and this process has checked or appended them.
    pub fn is_verified(&self) -> bool {
        self.range.file.is_cached(self.range.position, self.range.length)
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// The file and the position of its bytes.
    pub fn into_range(self) -> FileRange {
        self.range
    }
}

/// The reads of a log by offset.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'log> {
    checks: Checks<'log>,
    tail: &'log TailLock,
}

impl<'log> Reads<'log> {
    /// The reads of the log with this tail, which verify by `checks` the batches that they return.
    pub(in crate::storage::log) fn new(checks: Checks<'log>, tail: &'log TailLock) -> Self {
        Self { checks, tail }
    }

    /// The batches from the one that contains `from`, or the first one after it; all from one
    /// segment. `None` if there are none within the limit.
    ///
    /// Bytes that are not verified are read and checked first, which blocks on the disk.
    ///
    /// # Errors
    /// `OffsetOutOfRange` below the log start and beyond the log end; `Corrupt` if the wanted
    /// batches are damaged.
    pub fn read(self, from: Offset, limit: ReadLimit) -> Result<Option<FileRange>, StorageError> {
        let mut checks = 0;
        loop {
            match self.find_extent(from, limit) {
                Ok(Some(extent)) if !extent.is_verified() => {
                    match self.checks.check_range(&extent.segment, &extent.range) {
                        Ok(true) => return Ok(Some(extent.range)),
                        Ok(false) => {}
                        // The segment was removed or replaced since it was located.
                        Err(StorageError::Io { .. }) if !self.lists(&extent.segment) => {}
                        Err(error) => return Err(error),
                    }
                    checks += 1;
                    if checks > CHECKS_MAX {
                        let path = extent.segment.path(FileKind::Log);
                        return Err(self.tail.context().corrupt(
                            from..from,
                            &path,
                            extent.range.position,
                        ));
                    }
                }
                // The bytes are not a batch and no damage is known: check the segment to find the
                // bounds of the damage.
                Err(StorageError::Corrupt { first, next, .. })
                    if first == next && checks < CHECKS_MAX =>
                {
                    checks += 1;
                    self.checks.check_whole_segment(first)?;
                }
                result => return Ok(result?.map(|extent| extent.range)),
            }
        }
    }

    /// As [`Reads::read`], but without a check: the caller must not send bytes of an extent that is
    /// not verified. `Corrupt` with an empty offset range means that the bytes are not a batch;
    /// [`Reads::read`] determines the damage.
    ///
    /// # Errors
    /// As [`Reads::read`].
    pub fn find_extent(
        self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        // Try again if a segment was deleted after the list was loaded and before its file was
        // read.
        loop {
            let segments = self.tail.segments();
            match self.extent_from(&segments, from, limit) {
                Ok(None) => {
                    let nothing = self.require_nothing(&segments, from, limit);
                    return nothing.map(|()| None);
                }
                Err(StorageError::Io { .. }) if self.has_replaced(&segments) => {}
                Err(StorageError::Io { .. }) if self.tail.lock().is_abandoned() => {
                    let partition = self.tail.context().partition.clone();
                    return Err(StorageError::Closed { partition });
                }
                result => return result,
            }
        }
    }

    /// The batch whose offsets include `offset`, even if `offset` is beyond its records, as happens
    /// if offsets count bytes; its header states where its offsets end. If there is none, the next
    /// batch. `None` if there is none within the limit.
    ///
    /// # Errors
    /// Those of the disk, and `Corrupt` if the log is known to be damaged there.
    pub fn batch_of(
        self,
        offset: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        let found = self.find(&self.tail.segments(), offset, limit)?;
        Ok(found.and_then(|(_, extent)| extent))
    }

    /// The sound batches from `from` on, or after the damage that begins at `from`, with the base
    /// offset of the first batch; all from one segment. Every batch is read and checked. For
    /// readers that got `Corrupt` from [`Reads::read`]. `None` if there are none within the limit.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn salvage(
        self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<(Offset, FileRange)>, StorageError> {
        let segments = self.tail.segments();
        let below = limit.below.min(self.tail.view().log_end());
        let segments = segments.iter().skip(segments.number_of(from));
        for segment in segments.take_while(|segment| segment.base() < below) {
            let truncations = segment.truncations();
            let Some(run) = segment.sound_run(from, below, limit.max_bytes)? else { continue };
            let range = segment.range(run.start..run.end, truncations);
            return Ok(Some((run.base_offset, range)));
        }
        Ok(None)
    }

    /// Returns true if the list of segments has changed. Retention renames a segment's files before
    /// it publishes the new list, both under the tail's lock, so take this lock before the
    /// comparison.
    fn has_replaced(self, segments: &Segments) -> bool {
        let _tail = self.tail.lock();
        !self.tail.view().is_current(segments)
    }

    fn lists(self, segment: &Arc<Segment>) -> bool {
        self.tail.segments().position_of(segment).is_some()
    }

    /// The batches from the one that contains `from`, or the next one; all from one segment. Bytes
    /// are not checked.
    fn extent_from(
        self,
        segments: &Segments,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        let view = self.tail.view();
        let (start, end) = (view.log_start(), view.log_end());
        if from < start || from > end {
            let partition = self.tail.context().partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: from, start, end });
        }
        let mut wanted = from;
        let mut emptied = None;
        while let Some((batch, extent)) = self.find(segments, wanted, limit)? {
            if batch.summary.record_count == 0 {
                // A reader that gets only batches without records would conclude that its limit is
                // too small.
                emptied = emptied.or(extent);
            } else if !self.is_beyond_records(wanted, &batch) {
                return Ok(extent);
            }
            wanted = batch.summary.next_offset();
        }
        Ok(emptied)
    }

    /// The batch that contains `from`, or the next one, and the range that begins with it; `None`
    /// if there is none below the limit.
    fn find(
        self,
        segments: &Segments,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<(Located, Option<Extent>)>, StorageError> {
        if from >= limit.below.min(self.tail.view().log_end()) {
            return Ok(None);
        }
        let first = segments.number_of(from);
        for (number, segment) in segments.iter().enumerate().skip(first) {
            if segment.base() >= limit.below {
                break;
            }
            let truncations = segment.truncations();
            let Some(batch) = segment.locate(from)? else { continue };
            if number > first && batch.summary.base_offset > from {
                self.require_checked_end(&segments[number - 1])?;
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
            let range = Some(range).filter(|range| !range.is_empty());
            let extent = range.map(|range| Extent::of(segment, range, truncations));
            return Ok(Some((batch, extent)));
        }
        Ok(None)
    }

    /// Fails if the absence of records follows only from headers that were not checked.
    fn require_nothing(
        self,
        segments: &Segments,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<(), StorageError> {
        let Some(segment) = segments.get(segments.number_of(from)) else { return Ok(()) };
        if from >= limit.below { Ok(()) } else { self.require_checked_end(segment) }
    }

    /// Fails unless a segment was checked up to its end. Call it before a read continues in the
    /// next one: a segment between them may have been lost.
    fn require_checked_end(self, segment: &Segment) -> Result<(), StorageError> {
        if is_fully_verified(segment)? {
            return Ok(());
        }
        let base = segment.base();
        Err(self.tail.context().corrupt(base..base, &segment.path(FileKind::Log), 0))
    }

    /// Returns true if an offset belongs to a batch but is beyond its records, as happens if
    /// offsets count bytes: the wanted records then begin with the next batch.
    fn is_beyond_records(self, offset: Offset, batch: &Located) -> bool {
        let end = batch.summary.base_offset.plus(batch.summary.record_count.into());
        offset >= end && self.tail.context().config.load().offset_unit == OffsetUnit::Byte
    }
}

/// Returns true if a segment is verified completely, apart from its known damage.
fn is_fully_verified(segment: &Segment) -> Result<bool, StorageError> {
    let mut start = 0;
    for damage in segment.damages() {
        if !segment.verified().covers(start, damage.start.saturating_sub(start)) {
            return Ok(false);
        }
        start = start.max(damage.end);
    }
    Ok(segment.verified().covers(start, segment.size()?.saturating_sub(start)))
}
