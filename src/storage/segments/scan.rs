//! A sequential scan of a segment that checks every byte: for recovery and verification.
//!
//! A batch is good if its header is valid, it ends within the file, its checksum matches, its
//! offsets follow those before it and its epoch does not fall. A batch may be larger than memory
//! allows; its checksum is computed piece by piece.

use std::io;

use crate::record::{BatchSummary, HEADER_SIZE, RecordError, RunningChecksum};
use crate::storage::segments::Located;
use crate::storage::segments::window::{Medium, Source, Window};
use crate::types::{LeaderEpoch, Offset};

/// The requirements on the next batch of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The lowest base offset. The batch may begin higher, because compaction leaves gaps.
    pub offset: Offset,
    /// The lowest leader epoch.
    pub epoch: LeaderEpoch,
    /// True if the batch must begin exactly at `offset`.
    pub dense: bool,
}

/// The reason for which the bytes at a position are not the expected batch.
#[derive(Debug, thiserror::Error)]
pub enum BadBatch {
    /// The file ends within the header.
    #[error("{left} bytes are too few for a batch")]
    CutHeader {
        /// Bytes to the end of the file.
        left: u64,
    },
    /// The file ends within the batch.
    #[error("the batch has {size} bytes, but only {left} are in the file")]
    CutOff {
        /// Bytes of the batch by its header.
        size: usize,
        /// Bytes to the end of the file.
        left: u64,
    },
    /// The bytes are not a batch.
    #[error(transparent)]
    NoBatch(#[from] RecordError),
    /// The batch does not follow the batch before it, or goes beyond the end of the segment.
    #[error("the batch begins at offset {found} where {expected} comes next")]
    Offset {
        /// Its base offset.
        found: Offset,
        /// The offset that comes next, or the end of the segment.
        expected: Offset,
    },
    /// The batch's leader epoch is lower than that of the batch before it, or differs from the
    /// epoch history.
    #[error("the batch is of epoch {found} after epoch {before}")]
    Epoch {
        /// Its epoch.
        found: LeaderEpoch,
        /// The epoch of the batch before, or the epoch according to the history.
        before: LeaderEpoch,
    },
    /// The batch's header differs from the header that was written.
    #[error("the batch's base offset, length or leader epoch differs from the one written")]
    Header,
    /// Several headers of the batch's stretch are wrong, and the digest cannot tell which.
    #[error("several headers of neighbouring batches differ from those written")]
    Unproven,
}

/// The result of a scan at its position.
#[derive(Debug)]
pub(crate) enum Scanned {
    /// A good batch.
    Good(Located),
    /// Anything else; the scan stays at its position.
    Bad(BadBatch),
}

/// The result of a scan that passes over bad bytes.
#[derive(Debug)]
pub(crate) enum Passed {
    /// A good batch.
    Good(Located),
    /// Bytes that are not a good batch.
    Bad {
        /// The position of the first of these bytes.
        position: u64,
        /// The reason.
        bad: BadBatch,
        /// The position of the next good batch; `None` if none follows.
        good_again: Option<u64>,
    },
}

/// A scan of a file.
#[derive(Debug)]
pub(crate) struct BatchScan<'f> {
    window: Window<'f>,
    position: u64,
}

/// The size of a read. A read from the medium is large enough to be fast. A read from the page
/// cache is small enough that the bytes are still in the processor's cache when they are checked.
const fn stretch(medium: Medium) -> usize {
    match medium {
        Medium::Cache => 128 * 1024,
        Medium::Disk => 256 * 1024,
    }
}

/// The position of the format version in a header.
const MAGIC_AT: usize = 16;
const MAGIC: u8 = 2;

impl<'f> BatchScan<'f> {
    /// A scan of the bytes from `position` to `end`.
    pub(crate) fn new(source: Source<'f>, position: u64, end: u64) -> Self {
        Self { window: Window::new(source, end, stretch(source.medium)), position }
    }

    /// The position of the next batch.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Continues at `position` instead.
    pub(crate) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Checks the batch at the position, and moves past it if it is good; `None` at the end.
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

    /// Checks the batch at the position, and moves past it or, if it is bad, to the next good one,
    /// wherever it is; `None` at the end.
    pub(crate) fn pass(&mut self, expected: &Expected) -> io::Result<Option<Passed>> {
        let bad = match self.next(expected)? {
            None => return Ok(None),
            Some(Scanned::Good(batch)) => return Ok(Some(Passed::Good(batch))),
            Some(Scanned::Bad(bad)) => bad,
        };
        let position = self.position;
        let good_again = self.find_good(expected, None)?.map(|batch| batch.position);
        self.position = good_again.unwrap_or(self.window.end());
        Ok(Some(Passed::Bad { position, bad, good_again }))
    }

    /// The header at `position`; `None` if the bytes are not a valid header.
    pub(super) fn header(&mut self, position: u64) -> io::Result<Option<BatchSummary>> {
        let header = self.window.bytes(position, HEADER_SIZE)?.first_chunk();
        Ok(header.and_then(|header| BatchSummary::parse(header).ok()))
    }

    /// The first good batch beyond the position that begins at or after `expected` and before
    /// `below`, wherever it is. It distinguishes a torn write at the end from damage in the middle.
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
            // Most positions are ruled out by comparing a single byte.
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

/// Checks that a batch may come next.
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
