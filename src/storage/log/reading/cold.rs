//! Reads of cold ranges past the page cache, into chunks that other readers find in memory.
//!
//! Only finished segments are read in this way: a direct read holds a lock of the file, and an
//! append to the last segment would wait for it. Bytes that cannot be read or are not sound are
//! left to the read through the page cache, which determines and records the damage.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::io::{DirectBuffer, File, FileRange};
use crate::storage::cold_reads::{Chunk, ColdReads, CutLimit, Place, Wanted};
use crate::storage::log::reading::checking::{Checks, check_at};
use crate::storage::log::reading::read::Reads;
use crate::storage::log::tail::Segments;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{Loaded, Medium, SegmentCheck};
use crate::storage::{OffsetUnit, ReadLimit, StorageError};
use crate::types::Offset;

/// Whole batches, in a file or in memory.
#[derive(Clone, Debug)]
pub enum StoredBatches {
    /// In a file.
    InFile(FileRange),
    /// In memory, verified.
    InMemory(Bytes),
}

/// The outcome of a search in memory.
#[derive(Clone, Debug)]
pub enum InMemory {
    /// Verified batches; empty if the limit allows none.
    Found {
        /// The bytes of the batches.
        batches: Bytes,
        /// The offset from which [`ColdRanges::read_ahead`] should read now, for a sequential
        /// reader.
        read_ahead: Option<Offset>,
    },
    /// The batches are being read; [`ColdRanges::verify`] waits for them.
    Loading,
    /// The batches are not in memory, except perhaps in the page cache.
    Absent,
}

/// The size from which a chunk takes no further stretch. Where stretches have digests, that is
/// after two of them, of slightly more than 1 MiB each.
const CHUNK_BYTES: u64 = (2 << 20) - (64 << 10);

/// The number of chunks that are read ahead. With two, the medium is busy while a chunk is checked
/// and while its reader is woken.
const CHUNKS_AHEAD: usize = 2;

/// A limit that admits no batch, for a search that only asks if the batches are in memory.
const NOTHING: CutLimit =
    CutLimit { bytes_max: 0, below: Offset::ZERO, at_least_one: false, keeps_emptied: true };

impl StoredBatches {
    /// The number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::InFile(range) => range.length,
            Self::InMemory(bytes) => bytes.len() as u64,
        }
    }
}

/// The reads of a log's cold ranges.
#[derive(Clone, Copy, Debug)]
pub struct ColdRanges<'log> {
    reads: Reads<'log>,
    checks: Checks<'log>,
    tail: &'log TailLock,
}

impl<'log> ColdRanges<'log> {
    /// The cold ranges of the log with this tail. Ranges that are not read past the page cache are
    /// left to `reads`.
    pub(in crate::storage::log) fn new(
        reads: Reads<'log>,
        checks: Checks<'log>,
        tail: &'log TailLock,
    ) -> Self {
        Self { reads, checks, tail }
    }

    /// The batches from `from` on, if a direct read has brought them into memory. Never blocks on
    /// the disk.
    pub fn find_in_memory(self, from: Offset, limit: ReadLimit) -> InMemory {
        let cold_reads = &self.tail.context().cold_reads;
        if cold_reads.is_empty() {
            return InMemory::Absent;
        }
        let segments = self.tail.segments();
        let Some(wanted) = self.wanted(&segments, from) else { return InMemory::Absent };
        if let Some(taken) = cold_reads.take(wanted, cut_limit(limit)) {
            return InMemory::Found { batches: taken.bytes, read_ahead: taken.read_ahead };
        }
        match cold_reads.find(wanted, cut_limit(limit)) {
            Place::Loading => InMemory::Loading,
            Place::InMemory | Place::Behind(_) | Place::Elsewhere => InMemory::Absent,
        }
    }

    /// Brings the batches from `from` on into memory and verifies them: into the page cache, or
    /// past it for [`ColdRanges::find_in_memory`]. Blocks on the disk.
    ///
    /// # Errors
    /// As [`Reads::read`].
    pub fn verify(self, from: Offset, limit: ReadLimit) -> Result<(), StorageError> {
        if self.load_cold(from, limit)? {
            return Ok(());
        }
        self.reads.read(from, limit).map(drop)
    }

    /// Reads the chunks that begin at `from`, directly after another chunk. Blocks on the disk. An
    /// error is left to the read that needs these bytes.
    pub fn read_ahead(self, mut from: Offset) {
        for _ in 0..CHUNKS_AHEAD {
            match self.load_behind(from) {
                Ok(Some(end)) => from = end,
                Ok(None) => return,
                Err(error) => {
                    let partition = &self.tail.context().partition;
                    tracing::debug!(%partition, %from, %error, "batches are not read ahead");
                    return;
                }
            }
        }
    }

    /// Brings the chunk that begins at `from`, directly after another chunk, into memory, unless it
    /// is in memory already. Returns its end; `None` if it must be read through the page cache.
    fn load_behind(self, from: Offset) -> Result<Option<Offset>, StorageError> {
        let segments = self.tail.segments();
        let Some(wanted) = self.wanted(&segments, from) else { return Ok(None) };
        let cold_reads = &self.tail.context().cold_reads;
        match cold_reads.find(wanted, NOTHING) {
            Place::Behind(position) => {
                self.load_chunk(&segments, wanted, position, true)?;
            }
            Place::Loading => cold_reads.wait(wanted),
            Place::InMemory | Place::Elsewhere => {}
        }
        Ok(cold_reads.end_of_chunk(wanted))
    }

    /// Brings the batches from `from` on into a chunk. Returns false if they must be read through
    /// the page cache.
    fn load_cold(self, from: Offset, limit: ReadLimit) -> Result<bool, StorageError> {
        let segments = self.tail.segments();
        let Some(wanted) = self.wanted(&segments, from) else { return Ok(false) };
        let cold_reads = &self.tail.context().cold_reads;
        match cold_reads.find(wanted, cut_limit(limit)) {
            Place::InMemory => return Ok(true),
            Place::Loading => {
                cold_reads.wait(wanted);
                if cold_reads.find(wanted, cut_limit(limit)) == Place::InMemory {
                    return Ok(true);
                }
            }
            Place::Behind(position) => return self.load_chunk(&segments, wanted, position, true),
            Place::Elsewhere => {}
        }
        // The read through the page cache handles every error.
        let Ok(Some(extent)) = self.reads.find_extent(from, limit) else { return Ok(false) };
        let is_wanted = Arc::ptr_eq(extent.segment().cached_file(), wanted.file);
        let FileRange { position, length, .. } = extent.into_range();
        if !is_wanted || wanted.file.is_cached(position, length) {
            return Ok(false);
        }
        self.load_chunk(&segments, wanted, position, false)
    }

    /// The place of an offset in a finished segment; `None` if it is not to be read past the page
    /// cache.
    fn wanted(self, segments: &Segments, offset: Offset) -> Option<Wanted<'_>> {
        let context = self.tail.context();
        let number = segments.number_of(offset);
        segments.next_base(number)?;
        let segment = segments.get(number)?;
        let is_first = offset == segment.base();
        let before = number.checked_sub(1).filter(|_| is_first).and_then(|n| segments.get(n));
        // If offsets count bytes, an offset may lie after the records of its batch: leave the
        // search for the next records to the read through the page cache.
        let is_plain = context.config.load().offset_unit == OffsetUnit::Record;
        (is_plain && offset >= self.tail.view().log_start()).then(|| Wanted {
            file: segment.cached_file(),
            before: before.map(|segment| segment.cached_file()),
            offset,
            now: context.clock.monotonic(),
        })
    }

    /// Reads the chunk with the batch at `position` past the page cache, checks it and keeps it.
    /// `is_sequential` says that its reader continues directly after another chunk. Returns false
    /// if the bytes must be read through the page cache.
    fn load_chunk(
        self,
        segments: &Segments,
        wanted: Wanted<'_>,
        position: u64,
        is_sequential: bool,
    ) -> Result<bool, StorageError> {
        let number = segments.number_of(wanted.offset);
        let (Some(segment), Some(next_base)) = (segments.get(number), segments.next_base(number))
        else {
            return Ok(false);
        };
        let changes = wanted.file.changes();
        let chain = self.checks.chain_of(segments, number)?;
        let size = chain.size;
        let check = check_at(segment, chain, position, Medium::Disk)?;
        let start = check.position();
        let Some(range) = chunk_range(&check) else { return Ok(false) };
        if wanted.file.is_cached(range.start, range.end - range.start) {
            // The reader has caught up with the bytes in the page cache.
            return Ok(false);
        }
        let claimed = self.tail.context().cold_reads.claim(wanted, range.clone());
        let Some((claim, buffer)) = claimed else { return Ok(false) };
        let Some((buffer, end)) = checked(check, buffer, range) else { return Ok(false) };
        let first = (start == position && is_sequential).then_some(wanted.offset);
        let file = (Arc::clone(wanted.file), changes);
        let Some(mut chunk) = Chunk::new(file, (buffer, aligned(start)), start..end, first) else {
            return Ok(false);
        };
        if !chunk.covers(wanted.offset) {
            return Ok(false);
        }
        if chunk.end().0 == size {
            chunk.cover_to(next_base);
            segment.release_digests();
        }
        claim.keep(chunk, is_sequential, self.tail.context().clock.monotonic());
        Ok(true)
    }
}

/// The stretches of a chunk that begins where `check` does; `None` if a buffer is too small for the
/// first.
fn chunk_range(check: &SegmentCheck) -> Option<Range<u64>> {
    let start = check.position();
    let room_end = aligned(start) + ColdReads::CHUNK_MAX;
    let mut end = start;
    while end < check.size().min(start + CHUNK_BYTES) && check.stretch_end(end) <= room_end {
        end = check.stretch_end(end);
    }
    (end > start).then_some(start..end)
}

/// Reads a range into `buffer` and checks its batches. Returns their end, which may lie beyond the
/// buffer; `None` unless all of them are sound.
fn checked(
    mut check: SegmentCheck,
    mut buffer: DirectBuffer,
    range: Range<u64>,
) -> Option<(DirectBuffer, u64)> {
    let segment = check.segment();
    let Range { start, end } = range;
    let length = usize::try_from(end - aligned(start)).ok()?;
    let read = segment.file().read_direct(&mut buffer, aligned(start), length);
    let found = read.map_err(|error| segment.refused("read", error)).and_then(|()| {
        let loaded = Loaded { bytes: buffer.as_ref(), start: aligned(start) };
        check.advance_with(Some(loaded), end.min(start + CHUNK_BYTES))
    });
    let end = check.position();
    match found {
        Ok(found) if found.is_empty() && !check.ends_in_damage() => {}
        Ok(_) => return None,
        Err(error) => {
            let base = segment.base();
            tracing::debug!(%base, start, %error, "bytes are read through the page cache");
            return None;
        }
    }
    let is_damaged = segment.damages().iter().any(|damage| overlap(damage.bytes(), start..end));
    (!is_damaged).then_some((buffer, end))
}

fn overlap(first: Range<u64>, second: Range<u64>) -> bool {
    first.start < second.end && second.start < first.end
}

/// The last position up to `position` at which a direct read may begin.
fn aligned(position: u64) -> u64 {
    position - position % DirectBuffer::ALIGNMENT as u64
}

fn cut_limit(limit: ReadLimit) -> CutLimit {
    let ReadLimit { max_bytes, below, at_least_one_batch, keeps_emptied } = limit;
    let (bytes_max, at_least_one) = (max_bytes, at_least_one_batch);
    CutLimit { bytes_max, below, at_least_one, keeps_emptied }
}
