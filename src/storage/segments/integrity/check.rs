//! Judging every batch of a segment, by its checksum and by the chain of headers.
//!
//! Base offset, length, epoch and magic lie outside a batch's checksum. They are held against the
//! batch before, the next segment's base and the epoch history. Damage that is known already is
//! passed over; what is found new is returned, and for the caller to note.

use std::sync::Arc;

use crate::storage::segments::{
    BadBatch, BatchScan, Damage, Expected, Located, Medium, Scanned, Segment,
};
use crate::storage::{EpochStart, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The facts about a log that the headers of one segment must agree with.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Offsets follow one another without a gap from here on.
    pub(crate) dense_from: Offset,
    /// The offset after the segment's last.
    pub(crate) end: Offset,
    /// The bytes of the segment that are checked.
    pub(crate) size: u64,
    /// Whether the last of these bytes ends at that offset.
    pub(crate) is_whole: bool,
    /// The epoch history, rising.
    pub(crate) epochs: Vec<EpochStart>,
}

/// A walk over a segment that judges every batch. It may pause between calls of
/// [`SegmentCheck::advance`] for as long as it likes.
#[derive(Debug)]
pub(in crate::storage) struct SegmentCheck {
    segment: Arc<Segment>,
    chain: Chain,
    medium: Medium,
    position: u64,
    expected: Expected,
    is_done: bool,
}

impl Chain {
    /// The epoch that the history gives to an offset.
    fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.epochs.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|index| self.epochs[index].epoch)
    }

    /// What follows a batch, or the beginning of the segment, that ends at `offset`.
    fn expected(&self, offset: Offset, epoch: LeaderEpoch) -> Expected {
        Expected { offset, epoch, dense: offset >= self.dense_from }
    }

    /// Whether a batch agrees with the epoch history, and ends where the segment may.
    fn admits(&self, batch: &Located) -> Result<(), BadBatch> {
        let (found, offset) = (batch.summary.leader_epoch, batch.summary.base_offset);
        if let Some(before) = self.epoch_at(offset).filter(|epoch| *epoch != found) {
            return Err(BadBatch::Epoch { found, before });
        }
        if batch.summary.next_offset() > self.end {
            return Err(BadBatch::Offset { found: offset, expected: self.end });
        }
        Ok(())
    }
}

impl SegmentCheck {
    /// A check of all batches of a segment below the chain's size, read from `medium`.
    pub(in crate::storage) fn new(segment: Arc<Segment>, chain: Chain, medium: Medium) -> Self {
        let expected = chain.expected(segment.base(), LeaderEpoch::NONE);
        Self { segment, chain, medium, position: 0, expected, is_done: false }
    }

    /// The same check, but beginning at `batch`.
    pub(in crate::storage) fn starting_at(self, batch: &Located) -> Self {
        let expected = self.chain.expected(batch.summary.base_offset, LeaderEpoch::NONE);
        Self { position: batch.position, expected, ..self }
    }

    /// The position of the first byte that is not checked yet.
    pub(in crate::storage) fn position(&self) -> u64 {
        self.position
    }

    /// The segment that is checked.
    pub(in crate::storage) fn segment(&self) -> Arc<Segment> {
        Arc::clone(&self.segment)
    }

    /// The bytes that are checked when it is done.
    pub(in crate::storage) fn size(&self) -> u64 {
        self.chain.size
    }

    /// Whether all there was at the beginning is checked.
    pub(in crate::storage) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Judges the batches from the position up to the first that begins at or beyond `until`, and
    /// returns the damage that was not known.
    ///
    /// # Errors
    /// When the disk refuses; the same call may be made again.
    pub(in crate::storage) fn advance(&mut self, until: u64) -> Result<Vec<Damage>, StorageError> {
        let segment = Arc::clone(&self.segment);
        let refused = |error| segment.refused("read", error);
        let mut found = Vec::new();
        let mut scan =
            BatchScan::new(&**segment.file(), self.position, self.chain.size, self.medium);
        while self.position < until.min(self.chain.size) {
            if let Some(known) = segment.home.damages.at(segment.base(), self.position) {
                self.expected = self.chain.expected(known.next, self.expected.epoch);
                self.position = known.end.max(self.position);
                scan.go_to(self.position);
                continue;
            }
            let judged = match scan.next(&self.expected).map_err(refused)? {
                None => break,
                Some(Scanned::Good(batch)) => self.chain.admits(&batch).map(|()| batch),
                Some(Scanned::Bad(bad)) => Err(bad),
            };
            match judged {
                Ok(batch) => {
                    let summary = &batch.summary;
                    self.expected =
                        self.chain.expected(summary.next_offset(), summary.leader_epoch);
                    self.position = batch.end();
                }
                Err(bad) => {
                    tracing::debug!(position = self.position, %bad, "no good batch");
                    found.push(self.pass_damage(&mut scan)?);
                }
            }
        }
        if self.position >= self.chain.size {
            found.extend(self.missing_end());
            self.is_done = true;
        }
        Ok(found)
    }

    /// Goes on behind what is no good batch, and returns how far that reaches.
    fn pass_damage(&mut self, scan: &mut BatchScan<'_>) -> Result<Damage, StorageError> {
        let (start, first) = (self.position, self.expected.offset);
        scan.go_to(start);
        let next = self.next_admitted(scan)?;
        let (end, next) = match next {
            Some(batch) => (batch.position, batch.summary.base_offset),
            None => (self.chain.size, self.chain.end.max(first)),
        };
        scan.go_to(end);
        self.position = end;
        self.expected = self.chain.expected(next, self.expected.epoch);
        Ok(Damage { segment: self.segment.base(), start, end, first, next })
    }

    /// The first good batch behind the position that the chain admits.
    fn next_admitted(&self, scan: &mut BatchScan<'_>) -> Result<Option<Located>, StorageError> {
        loop {
            let found = scan.find_good(&self.expected, Some(self.chain.end));
            let found = found.map_err(|error| self.segment.refused("read", error))?;
            match found {
                Some(batch) if self.chain.admits(&batch).is_err() => scan.go_to(batch.position),
                found => return Ok(found),
            }
        }
    }

    /// The damage of a segment whose last batches are missing.
    fn missing_end(&mut self) -> Option<Damage> {
        let (first, next) = (self.expected.offset, self.chain.end);
        // Compaction may have taken the last batches away.
        if !self.chain.is_whole || !self.expected.dense || first >= next {
            return None;
        }
        let size = self.chain.size;
        self.expected = self.chain.expected(next, self.expected.epoch);
        Some(Damage { segment: self.segment.base(), start: size, end: size, first, next })
    }
}
