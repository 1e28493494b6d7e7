//! From batch to batch through a segment, with every byte checked: at recovery, and to verify.
//!
//! A batch is good when its header makes sense, it ends within the file, its checksum holds, its
//! offsets follow those before it and its epoch does not fall. The batch may be larger than memory
//! would bear; its checksum is computed as the bytes come by.

use std::io;

use crate::io::File;
use crate::record::{BatchSummary, HEADER_SIZE, RecordError, RunningChecksum};
use crate::storage::segments::Located;
use crate::storage::segments::window::{Medium, Window};
use crate::types::{LeaderEpoch, Offset};

/// What the next batch of a log must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// It begins here, or beyond where compaction may have made gaps.
    pub offset: Offset,
    /// Its epoch is this one or a later one.
    pub epoch: LeaderEpoch,
    /// Whether it begins exactly at `offset`.
    pub dense: bool,
}

/// Why the bytes at a position are not the batch that belongs there.
#[derive(Debug, thiserror::Error)]
pub enum BadBatch {
    /// The file ends within the header.
    #[error("{left} bytes are too few for a batch")]
    CutHeader {
        /// Bytes to the end of the file.
        left: u64,
    },
    /// The file ends within the batch.
    #[error("the batch has {size} bytes, and {left} are there")]
    CutOff {
        /// Bytes of the batch by its header.
        size: usize,
        /// Bytes to the end of the file.
        left: u64,
    },
    /// The bytes are no batch.
    #[error("{0}")]
    NoBatch(#[from] RecordError),
    /// It does not follow the batch before it.
    #[error("the batch begins at offset {found} where {expected} comes next")]
    Offset {
        /// Its base offset.
        found: Offset,
        /// The offset that comes next.
        expected: Offset,
    },
    /// It is of an earlier reign than the batch before it.
    #[error("the batch is of epoch {found} after epoch {before}")]
    Epoch {
        /// Its epoch.
        found: LeaderEpoch,
        /// The epoch of the batch before.
        before: LeaderEpoch,
    },
    /// Its header is not the one that was written.
    #[error("the batch's base offset, length or leader epoch is not what was written")]
    Header,
    /// Some headers of its stretch are not those that were written, and nothing tells which.
    #[error("of some neighbouring batches several headers are not what was written")]
    Unproven,
}

/// What a scan found at its position.
#[derive(Debug)]
pub(crate) enum Scanned {
    /// A good batch.
    Good(Located),
    /// Anything else; the scan stays there.
    Bad(BadBatch),
}

/// A scan of a file.
#[derive(Debug)]
pub(crate) struct BatchScan<'f> {
    window: Window<'f>,
    position: u64,
}

/// Bytes that one read asks for: from the medium enough to be fast, from the page cache so few that
/// they are still near the processor when they are judged.
const fn stretch(medium: Medium) -> usize {
    match medium {
        Medium::Cache => 128 * 1024,
        Medium::Disk => 256 * 1024,
    }
}

/// Where in a header the number of the format stands.
const MAGIC_AT: usize = 16;
const MAGIC: u8 = 2;

impl<'f> BatchScan<'f> {
    /// A scan of the bytes from `position` to `end`.
    pub(crate) fn new(file: &'f dyn File, position: u64, end: u64, medium: Medium) -> Self {
        Self { window: Window::new(file, end, medium, stretch(medium)), position }
    }

    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Goes on at `position` instead.
    pub(crate) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Judges what is at the position, and passes it if it is good; `None` at the end.
    pub(crate) fn next(&mut self, expected: &Expected) -> io::Result<Option<Scanned>> {
        if self.position >= self.window.end() {
            return Ok(None);
        }
        let judged = self.judge(self.position, expected)?;
        if let Scanned::Good(batch) = &judged {
            self.position = batch.end();
        }
        Ok(Some(judged))
    }

    /// What the header at `position` says; `None` where the bytes are none.
    pub(super) fn header(&mut self, position: u64) -> io::Result<Option<BatchSummary>> {
        let header = self.window.bytes(position, HEADER_SIZE)?.first_chunk();
        Ok(header.and_then(|header| BatchSummary::parse(header).ok()))
    }

    /// The first good batch beyond the position that begins at or after `expected` and before
    /// `below`, wherever it is: for telling a tear from a hole.
    pub(crate) fn find_good(
        &mut self,
        expected: &Expected,
        below: Option<Offset>,
    ) -> io::Result<Option<Located>> {
        let expected = Expected { dense: false, ..*expected };
        let mut position = self.position + 1;
        while position + HEADER_SIZE as u64 <= self.window.end() {
            let bytes = self.window.bytes(position, HEADER_SIZE)?;
            if bytes.len() < HEADER_SIZE {
                return Ok(None);
            }
            // Most bytes are told apart by one comparison.
            let candidates = &bytes[MAGIC_AT..=bytes.len() - HEADER_SIZE + MAGIC_AT];
            let Some(skip) = candidates.iter().position(|byte| *byte == MAGIC) else {
                position += candidates.len() as u64;
                continue;
            };
            position += skip as u64;
            if let Scanned::Good(batch) = self.judge(position, &expected)?
                && below.is_none_or(|below| batch.summary.base_offset < below)
            {
                return Ok(Some(batch));
            }
            position += 1;
        }
        Ok(None)
    }

    fn judge(&mut self, position: u64, expected: &Expected) -> io::Result<Scanned> {
        let left = self.window.end() - position;
        let Some(header) = self.window.bytes(position, HEADER_SIZE)?.first_chunk() else {
            return Ok(Scanned::Bad(BadBatch::CutHeader { left }));
        };
        let header = *header;
        let summary = match BatchSummary::parse(&header) {
            Ok(summary) => summary,
            Err(error) => return Ok(Scanned::Bad(error.into())),
        };
        let batch = Located { position, summary };
        if batch.end() > self.window.end() {
            return Ok(Scanned::Bad(BadBatch::CutOff { size: summary.size, left }));
        }
        if let Err(bad) = follows(&summary, expected) {
            return Ok(Scanned::Bad(bad));
        }
        let computed = self.checksum(&header, &batch)?;
        if computed == summary.crc {
            return Ok(Scanned::Good(batch));
        }
        let error = RecordError::Checksum { stated: summary.crc, computed };
        Ok(Scanned::Bad(error.into()))
    }

    fn checksum(&mut self, header: &[u8; HEADER_SIZE], batch: &Located) -> io::Result<u32> {
        let mut checksum = RunningChecksum::of_header(header);
        let mut position = batch.position + HEADER_SIZE as u64;
        while position < batch.end() {
            let bytes = self.window.bytes(position, 1)?;
            let left = usize::try_from(batch.end() - position).unwrap_or(usize::MAX);
            let taken = bytes.len().min(left);
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            checksum.add(&bytes[..taken]);
            position += taken as u64;
        }
        Ok(checksum.value())
    }
}

/// Whether a batch may come next.
pub(super) fn follows(summary: &BatchSummary, expected: &Expected) -> Result<(), BadBatch> {
    let found = summary.base_offset;
    if found < expected.offset || (expected.dense && found != expected.offset) {
        return Err(BadBatch::Offset { found, expected: expected.offset });
    }
    if summary.leader_epoch < expected.epoch {
        return Err(BadBatch::Epoch { found: summary.leader_epoch, before: expected.epoch });
    }
    Ok(())
}
