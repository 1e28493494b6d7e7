//! Reading: which bytes of which file hold the records somebody wants.

use std::sync::Arc;

use crate::io::FileRange;
use crate::storage::log::Log;
use crate::storage::segments::{FileKind, Located, Segment, Span};
use crate::storage::{OffsetUnit, StorageError};
use crate::types::Offset;

/// How much a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// So many bytes at most.
    pub max_bytes: u64,
    /// Only batches that end below this offset: the high watermark, as a rule.
    pub below: Offset,
    /// Whether the first batch comes whole even if it is larger than `max_bytes`, so that a reader
    /// with a small buffer gets on.
    pub at_least_one_batch: bool,
}

/// How often a segment is checked for one read before it is refused.
pub(super) const CHECKS_MAX: usize = 3;

/// Whole batches of one segment.
#[derive(Clone, Debug)]
pub struct Extent {
    segment: Arc<Segment>,
    range: FileRange,
}

impl Extent {
    pub(super) fn of(segment: &Arc<Segment>, position: u64, length: u64) -> Self {
        Self { segment: Arc::clone(segment), range: segment.range(position, length) }
    }

    /// Whether its bytes are in memory and checked, or appended by this process.
    pub fn is_vouched(&self) -> bool {
        self.range.file.is_cached(self.range.position, self.range.length)
    }

    /// Where its bytes are.
    pub fn into_range(self) -> FileRange {
        self.range
    }
}

impl Log {
    /// The batches from the one that holds `from`, or the first one after it, on; all from one
    /// segment. `None` when there are none within the limit.
    ///
    /// What is not vouched for is read and checked first, which blocks on the disk.
    ///
    /// # Errors
    /// `OffsetOutOfRange` below the log start and beyond the log end; `Corrupt` where the log is
    /// damaged.
    pub fn read(&self, from: Offset, limit: ReadLimit) -> Result<Option<FileRange>, StorageError> {
        let mut checks = 0;
        loop {
            match self.find_extent(from, limit) {
                Ok(Some(extent)) if !extent.is_vouched() => {
                    match self.check_range(&extent.segment, &extent.range) {
                        Ok(true) => return Ok(Some(extent.range)),
                        Ok(false) => {}
                        // It was removed, or replaced, since it was found.
                        Err(StorageError::Io { .. }) if !self.lists(&extent.segment) => {}
                        Err(error) => return Err(error),
                    }
                    checks += 1;
                    if checks > CHECKS_MAX {
                        let path = extent.segment.path(FileKind::Log);
                        return Err(self
                            .home
                            .corrupt((from, from), (&path, extent.range.position)));
                    }
                }
                // Bytes that are no batch, where no damage is known: how far it goes is found out.
                Err(StorageError::Corrupt { first, next, .. })
                    if first == next && checks < CHECKS_MAX =>
                {
                    checks += 1;
                    self.check_whole_segment(first)?;
                }
                result => return Ok(result?.map(|extent| extent.range)),
            }
        }
    }

    /// As [`Log::read`], but nothing is checked: the caller must not let bytes out of an extent
    /// that is not vouched for. `Corrupt` without offsets stands for bytes that are no batch, of
    /// which [`Log::read`] finds out more.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn find_extent(
        &self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        // A segment may be deleted between the look at the list and the look at its file.
        loop {
            let segments = self.segments.load_full();
            match self.read_in(&segments, from, limit) {
                Ok(None) => return self.require_nothing(&segments, from, limit).map(|()| None),
                Err(StorageError::Io { .. }) if self.has_replaced(&segments) => {}
                Err(StorageError::Io { .. }) if self.is_abandoned() => {
                    let partition = self.home.partition.clone();
                    return Err(StorageError::Closed { partition });
                }
                result => return result,
            }
        }
    }

    /// Refuses to say that there is nothing to read where headers say so that nobody has checked.
    fn require_nothing(
        &self,
        segments: &[Arc<Segment>],
        from: Offset,
        limit: ReadLimit,
    ) -> Result<(), StorageError> {
        let number = segments.partition_point(|segment| segment.base() <= from).saturating_sub(1);
        let Some(segment) = segments.get(number) else { return Ok(()) };
        if from >= limit.below { Ok(()) } else { self.require_checked_end(segment) }
    }

    /// Refuses to pass over offsets between two segments before the end of the first was checked:
    /// a segment between them may have been lost.
    fn require_checked_end(&self, segment: &Segment) -> Result<(), StorageError> {
        if is_vouched_for(segment)? {
            return Ok(());
        }
        let offsets = (segment.base(), segment.base());
        Err(self.home.corrupt(offsets, (&segment.path(FileKind::Log), 0)))
    }

    /// The batch that `offset` lies in, also where that is behind its records, as happens where
    /// offsets count bytes: it tells where its offsets end. `None` when there is none within the
    /// limit.
    ///
    /// # Errors
    /// As the disk failed, and where the log is known to be damaged.
    pub fn batch_of(
        &self,
        offset: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        let found = self.find(&self.segments.load_full(), offset, limit)?;
        Ok(found.and_then(|(_, extent)| extent))
    }

    /// Whether the segments are others now. Who removes one renames its files first, under the
    /// tail's lock.
    fn has_replaced(&self, segments: &Arc<Vec<Arc<Segment>>>) -> bool {
        let _tail = self.lock_tail();
        !Arc::ptr_eq(segments, &self.segments.load())
    }

    fn lists(&self, segment: &Arc<Segment>) -> bool {
        self.segments.load().iter().any(|listed| Arc::ptr_eq(listed, segment))
    }

    fn read_in(
        &self,
        segments: &[Arc<Segment>],
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<Extent>, StorageError> {
        let (start, end) = (self.log_start_offset(), self.log_end_offset());
        if from < start || from > end {
            let partition = self.home.partition.clone();
            return Err(StorageError::OffsetOutOfRange { partition, offset: from, start, end });
        }
        let mut wanted = from;
        let mut emptied = None;
        while let Some((batch, range)) = self.find(segments, wanted, limit)? {
            if batch.summary.record_count == 0 {
                // A reader that gets batches without records only takes its limit for too small.
                emptied = emptied.or(range);
            } else if !self.is_beyond_records(wanted, &batch) {
                return Ok(range);
            }
            wanted = batch.summary.next_offset();
        }
        Ok(emptied)
    }

    /// The batch that `from` is in, or the next one, and the range that begins with it; `None`
    /// when there is none below the limit.
    fn find(
        &self,
        segments: &[Arc<Segment>],
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<(Located, Option<Extent>)>, StorageError> {
        if from >= limit.below.min(self.log_end_offset()) {
            return Ok(None);
        }
        let first = segments.partition_point(|segment| segment.base() <= from).saturating_sub(1);
        for (index, segment) in segments.iter().enumerate().skip(first) {
            if segment.base() >= limit.below {
                break;
            }
            let Some(batch) = segment.locate(from)? else { continue };
            if index > first && batch.summary.base_offset > from {
                self.require_checked_end(&segments[index - 1])?;
            }
            let next_base = segments.get(index + 1).map(|next| next.base());
            // The size before the end: an append publishes the end first, so every byte below
            // this size lies below this end. The other way round a batch appended in between
            // would count as flushed.
            let segment_size = segment.size()?;
            let segment_end = next_base.unwrap_or_else(|| self.log_end_offset());
            let span = Span {
                bytes_max: limit.max_bytes,
                below: limit.below,
                at_least_one: limit.at_least_one_batch,
                segment_size,
                segment_end,
            };
            let length = segment.span_end(&batch, &span)? - batch.position;
            let extent = (length > 0).then(|| Extent::of(segment, batch.position, length));
            return Ok(Some((batch, extent)));
        }
        Ok(None)
    }

    /// Whether an offset lies in a batch but behind its records, as happens where offsets count
    /// bytes: what is wanted then begins with the next batch.
    fn is_beyond_records(&self, offset: Offset, batch: &Located) -> bool {
        let end = batch.summary.base_offset.plus(batch.summary.record_count.into());
        offset >= end && self.offset_unit() == OffsetUnit::Byte
    }

    /// The sound batches from `from` on, or behind the damage that begins there, with the first
    /// offset of the first; all from one segment. Every batch is read and checked, for readers to
    /// whom [`Log::read`] has said that the log is damaged. `None` when there are none within the
    /// limit.
    ///
    /// # Errors
    /// As the disk failed.
    pub fn salvage(
        &self,
        from: Offset,
        limit: ReadLimit,
    ) -> Result<Option<(Offset, FileRange)>, StorageError> {
        let segments = self.segments.load_full();
        let below = limit.below.min(self.log_end_offset());
        let first = segments.partition_point(|segment| segment.base() <= from).saturating_sub(1);
        for segment in segments.iter().skip(first).take_while(|segment| segment.base() < below) {
            let Some(run) = segment.sound_run(from, below, limit.max_bytes)? else { continue };
            let range = segment.range(run.start, run.end - run.start);
            return Ok(Some((run.base_offset, range)));
        }
        Ok(None)
    }
}

/// Whether all of a segment is vouched for that is not known to be damaged.
fn is_vouched_for(segment: &Segment) -> Result<bool, StorageError> {
    let mut start = 0;
    for damage in segment.damages() {
        if !segment.vouched().covers(start, damage.start.saturating_sub(start)) {
            return Ok(false);
        }
        start = start.max(damage.end);
    }
    Ok(segment.vouched().covers(start, segment.size()?.saturating_sub(start)))
}
