//! Verified batches in a buffer.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::io::{CachedFile, DirectBuffer};
use crate::record::{BatchSummary, HEADER_SIZE};
use crate::types::Offset;

/// Verified batches that follow one another in a file, in memory.
#[derive(Debug)]
pub(in crate::storage) struct Chunk {
    file: Arc<CachedFile>,
    /// The number of changes of the file when it was read. If the file was truncated since, the
    /// same positions may hold other batches.
    changes: u64,
    /// The position after its last batch.
    end: u64,
    /// The offsets that the chunk covers: a record with such an offset is in one of its batches, or
    /// does not exist.
    offsets: Range<Offset>,
    bytes: Bytes,
    /// The first batch of about every `MARK_INTERVAL` bytes.
    marks: Vec<Mark>,
}

/// The limits of the batches cut from a chunk.
#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct CutLimit {
    pub(in crate::storage) bytes_max: u64,
    /// The offset below which all batches must end.
    pub(in crate::storage) below: Offset,
    /// True if the first batch is returned whole, however large it is.
    pub(in crate::storage) at_least_one: bool,
    /// True if the first batch may be one without records.
    pub(in crate::storage) keeps_emptied: bool,
}

/// Batches of a chunk.
#[derive(Debug)]
pub(super) struct Cut {
    /// The bytes of the batches; empty if the limits allow no batch.
    pub(super) bytes: Bytes,
    /// True if the chunk's last batch is among these batches.
    pub(super) is_last: bool,
}

/// The base offset of a batch, and the position of its header in the chunk.
#[derive(Clone, Copy, Debug)]
struct Mark {
    base: Offset,
    at: usize,
}

/// The number of bytes within which a batch is searched by walking from header to header.
const MARK_INTERVAL: usize = 32 << 10;

impl Chunk {
    /// The sound batches at these `positions` of the file. The chunk covers offsets from `first`
    /// on, or else from the first batch on. The buffer holds the file's bytes from the position
    /// `buffer_start` on; a batch of which it holds only a part is left out. `None` if it holds no
    /// whole batch.
    pub(in crate::storage) fn new(
        (file, changes): (Arc<CachedFile>, u64),
        (buffer, buffer_start): (DirectBuffer, u64),
        positions: Range<u64>,
        first: Option<Offset>,
    ) -> Option<Self> {
        let start = usize::try_from(positions.start - buffer_start).ok()?;
        let length = usize::try_from(positions.end - positions.start).ok()?;
        let bytes = Bytes::from_owner(buffer);
        let bytes = bytes.slice(start..(start + length).min(bytes.len()));
        let (mut marks, mut end) = (Vec::new(), 0);
        let mut next = None;
        while let Some(summary) = header(&bytes, end) {
            if marks.last().is_none_or(|mark: &Mark| end - mark.at >= MARK_INTERVAL) {
                marks.push(Mark { base: summary.base_offset, at: end });
            }
            end += summary.size;
            next = Some(summary.next_offset());
        }
        let offsets = first.unwrap_or(marks.first()?.base)..next?;
        let bytes = bytes.slice(..end);
        Some(Self { file, changes, end: positions.start + end as u64, offsets, bytes, marks })
    }

    /// Extends the covered offsets up to the next segment, because the chunk ends with the last
    /// batch of its segment.
    pub(in crate::storage) fn cover_to(&mut self, next_base: Offset) {
        self.offsets.end = self.offsets.end.max(next_base);
    }

    /// The position and the offset at which the next batch begins.
    pub(in crate::storage) fn end(&self) -> (u64, Offset) {
        (self.end, self.offsets.end)
    }

    /// Returns true if the chunk was read from this file, and the file has not changed since.
    pub(super) fn is_of(&self, file: &Arc<CachedFile>) -> bool {
        Arc::ptr_eq(&self.file, file) && self.changes == file.changes()
    }

    /// Returns true if the batch with `offset` is in this chunk, or does not exist.
    pub(in crate::storage) fn covers(&self, offset: Offset) -> bool {
        self.offsets.contains(&offset)
    }

    /// The batches from the batch that contains `from` on, or else from the next batch that the
    /// limit allows to be the first; `None` if the chunk has no such batch.
    pub(super) fn cut(&self, from: Offset, limit: CutLimit) -> Option<Cut> {
        let after = self.marks.partition_point(|mark| mark.base <= from);
        let mut start = self.marks[after.saturating_sub(1)].at;
        let first = loop {
            let summary = header(&self.bytes, start)?;
            let may_be_first = summary.record_count > 0 || limit.keeps_emptied;
            if summary.last_offset >= from && may_be_first {
                break summary;
            }
            start += summary.size;
        };
        let end = self.cut_end(start, &first, limit);
        Some(Cut { bytes: self.bytes.slice(start..end), is_last: end == self.bytes.len() })
    }

    /// The end of the batches from `start` on that `limit` allows. `first` is the first of them.
    fn cut_end(&self, start: usize, first: &BatchSummary, limit: CutLimit) -> usize {
        if first.last_offset >= limit.below {
            return start;
        }
        let cap = start.saturating_add(usize::try_from(limit.bytes_max).unwrap_or(usize::MAX));
        let mut end = start + first.size;
        if end > cap {
            return if limit.at_least_one { end } else { start };
        }
        // A mark is the start of a batch. If it lies within the limits, so do all batches before
        // it: start the walk at the last such mark.
        let allowed = |mark: &Mark| mark.base < limit.below && mark.at <= cap;
        let after = self.marks.partition_point(allowed);
        end = end.max(self.marks[after.saturating_sub(1)].at);
        while let Some(summary) = header(&self.bytes, end) {
            if end + summary.size > cap || summary.last_offset >= limit.below {
                break;
            }
            end += summary.size;
        }
        end
    }
}

/// The header of the batch at a position; `None` if the batch is not whole.
fn header(bytes: &[u8], at: usize) -> Option<BatchSummary> {
    let header = bytes.get(at..at + HEADER_SIZE)?.first_chunk()?;
    let summary = BatchSummary::parse(header).ok()?;
    (at + summary.size <= bytes.len()).then_some(summary)
}
