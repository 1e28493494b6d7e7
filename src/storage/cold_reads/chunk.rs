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
    /// The number of changes of the file when it was read: a file that was truncated since may have
    /// other batches there.
    changes: u64,
    /// The position after its last batch.
    end: u64,
    /// The offsets that it covers: a record in between is in one of its batches, or does not exist.
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
}

/// Batches of a chunk.
#[derive(Debug)]
pub(super) struct Cut {
    /// Their bytes; empty if the limits allow no batch.
    pub(super) bytes: Bytes,
    /// True if the chunk's last batch is among them.
    pub(super) is_last: bool,
}

/// A batch, by the place of its header.
#[derive(Clone, Copy, Debug)]
struct Mark {
    base: Offset,
    at: usize,
}

/// The number of bytes within which a batch is searched by walking from header to header.
const MARK_INTERVAL: usize = 32 << 10;

impl Chunk {
    /// The whole batches of `read` that were found sound: those of `positions`, whose offsets begin
    /// at `first`. The buffer was filled from the position `buffer_start` on. `None` if the buffer
    /// has no such batch.
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

    /// Extends the covered offsets up to the next segment, because its last batch is the segment's.
    pub(in crate::storage) fn cover_to(&mut self, next_base: Offset) {
        self.offsets.end = self.offsets.end.max(next_base);
    }

    /// The place of the batch after it.
    pub(in crate::storage) fn end(&self) -> (u64, Offset) {
        (self.end, self.offsets.end)
    }

    /// Returns true if it is of this file as it is now.
    pub(super) fn is_of(&self, file: &Arc<CachedFile>) -> bool {
        Arc::ptr_eq(&self.file, file) && self.changes == file.changes()
    }

    /// Returns true if the batch with `offset`, or its absence, is in this chunk.
    pub(in crate::storage) fn covers(&self, offset: Offset) -> bool {
        self.offsets.contains(&offset)
    }

    /// The batches from the one that contains `from`, or the next one with records; `None` if there
    /// is none here.
    pub(super) fn cut(&self, from: Offset, limit: CutLimit) -> Option<Cut> {
        let after = self.marks.partition_point(|mark| mark.base <= from);
        let mut start = self.marks[after.saturating_sub(1)].at;
        let first = loop {
            let summary = header(&self.bytes, start)?;
            if summary.last_offset >= from && summary.record_count > 0 {
                break summary;
            }
            start += summary.size;
        };
        let end = self.cut_end(start, &first, limit);
        Some(Cut { bytes: self.bytes.slice(start..end), is_last: end == self.bytes.len() })
    }

    /// The end of the batches from `start` on, of which `first` is the first, that `limit` allows.
    fn cut_end(&self, start: usize, first: &BatchSummary, limit: CutLimit) -> usize {
        if first.last_offset >= limit.below {
            return start;
        }
        let cap = start.saturating_add(usize::try_from(limit.bytes_max).unwrap_or(usize::MAX));
        let mut end = start + first.size;
        if end > cap {
            return if limit.at_least_one { end } else { start };
        }
        // All batches before a mark that begins below the limits are within them.
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

/// The header of the whole batch at a position; `None` if there is none.
fn header(bytes: &[u8], at: usize) -> Option<BatchSummary> {
    let header = bytes.get(at..at + HEADER_SIZE)?.first_chunk()?;
    let summary = BatchSummary::parse(header).ok()?;
    (at + summary.size <= bytes.len()).then_some(summary)
}
