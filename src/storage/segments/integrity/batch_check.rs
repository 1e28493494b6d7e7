//! The check of the batches of a file. Readers, the scrubber, recovery and `streamlog log verify`
//! all use it to decide which bytes are damaged.
//!
//! First a stretch is split into batches with valid checksums and rotten bytes. Then the headers
//! are checked, because a batch's checksum does not cover its base offset, length, epoch and magic.
//! The digest of the stretch identifies a wrong header. Without a digest, a header is compared with
//! the preceding batch, the next segment's base and the epoch history. Adjacent bad batches form
//! one damage.

use std::io;
use std::ops::Range;

use crate::storage::segments::integrity::digest::{self, Proof, STRETCH};
use crate::storage::segments::{
    BadBatch, BatchScan, Chain, Damage, Expected, HeaderDigest, HeaderDigests, Located, Scanned,
    Source,
};
use crate::types::{LeaderEpoch, Offset};

/// A finding of a check, in the order of positions.
#[derive(Debug)]
pub(crate) enum Checked {
    /// A good batch.
    Good(Located),
    /// Damage that was known before.
    Known,
    /// New damage, and the fault of its first batch.
    Bad(Damage, BadBatch),
}

/// A check of the batches of one file, stretch by stretch.
#[derive(Debug)]
pub(crate) struct BatchCheck<'f> {
    scan: BatchScan<'f>,
    base: Offset,
    chain: &'f Chain,
    known: Vec<Damage>,
    progress: &'f mut CheckProgress,
}

/// The state of a check between two stretches.
#[derive(Debug)]
pub(crate) struct CheckProgress {
    pub(in crate::storage::segments) position: u64,
    expected: Expected,
    /// Damage whose end is not known yet.
    open: Option<(Damage, BadBatch)>,
    /// The digests computed for sound stretches that had none.
    pub(in crate::storage::segments) gained: HeaderDigests,
    pub(in crate::storage::segments) is_done: bool,
}

/// A part of a stretch: a batch, or bytes between batches.
struct Piece {
    start: u64,
    end: u64,
    /// The CRC of its header; `None` if the bytes have no valid header.
    crc: Option<u32>,
    found: Found,
}

enum Found {
    /// A batch with a valid checksum.
    Sound(Located),
    /// Bytes without a valid batch.
    Rotten(BadBatch),
    Known(Damage),
}

/// Accepts any batch with a valid checksum.
const ANY: Expected = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };

impl CheckProgress {
    /// The state of a check that begins at `position`, where `expected` comes next.
    pub(crate) fn at(position: u64, expected: Expected) -> Self {
        let gained = HeaderDigests::default();
        Self { position, expected, open: None, gained, is_done: false }
    }
}

impl CheckProgress {
    /// Returns true if the check has found damage whose end is not known yet.
    pub(in crate::storage::segments) fn is_in_damage(&self) -> bool {
        self.open.is_some()
    }
}

impl<'f> BatchCheck<'f> {
    /// A check of the segment that begins at `base`, from `progress` to the chain's size. Damage
    /// that is `known` is not reported again.
    pub(crate) fn new(
        source: Source<'f>,
        base: Offset,
        chain: &'f Chain,
        known: Vec<Damage>,
        progress: &'f mut CheckProgress,
    ) -> Self {
        let scan = BatchScan::new(source, progress.position, chain.size);
        Self { scan, base, chain, known, progress }
    }

    /// The position of the next stretch.
    pub(in crate::storage::segments) fn position(&self) -> u64 {
        self.progress.position
    }

    /// Checks the next stretch; `None` at the end. Damage is returned once its end is known.
    ///
    /// # Errors
    /// Those of the file's reads; the call may be repeated.
    pub(crate) fn stretch(&mut self) -> io::Result<Option<Vec<Checked>>> {
        let start = self.progress.position;
        if start >= self.chain.size {
            return Ok(self.finish());
        }
        let digest = self.chain.digest_at(start).copied();
        let pieces = self.pieces(digest.is_some())?;
        let proof = digest.map(|digest| self.proof(&digest, &pieces));
        let is_gained = proof.is_none();
        let checked = self.judge(pieces, proof);
        if is_gained && checked.iter().all(|found| matches!(found, Checked::Good(_))) {
            let good = checked.iter().filter_map(|found| match found {
                Checked::Good(batch) => Some(batch),
                _ => None,
            });
            good.for_each(|batch| self.progress.gained.pass(batch));
            self.progress.gained.finish_stretch();
        }
        Ok(Some(checked))
    }

    /// Splits the next stretch into batches and bytes between them. The stretch reaches to the end
    /// of its digest, or about as far if it has no digest.
    fn pieces(&mut self, has_digest: bool) -> io::Result<Vec<Piece>> {
        let start = self.progress.position;
        let limit = self.chain.digest_limit(start);
        let mut pieces = Vec::new();
        let mut position = start;
        while position < limit && (has_digest || position - start < STRETCH) {
            let piece = self.piece(position, limit)?;
            position = piece.end;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    fn piece(&mut self, start: u64, limit: u64) -> io::Result<Piece> {
        let known = self.known.iter().find(|known| known.start <= start && start < known.end);
        if let Some(known) = known.copied() {
            // The headers of damaged batches may be valid, and then help to prove their neighbours.
            let header = self.header(start)?.filter(|header| header.end() <= known.end);
            let end = header.map_or(known.end, |header| header.end());
            let crc = header.map(|header| digest::header_crc(&header.summary));
            return Ok(Piece { start, end, crc, found: Found::Known(known) });
        }
        self.scan.go_to(start);
        match self.scan.next(&ANY)? {
            Some(Scanned::Good(batch)) => {
                let crc = Some(digest::header_crc(&batch.summary));
                Ok(Piece { start, end: batch.end(), crc, found: Found::Sound(batch) })
            }
            Some(Scanned::Bad(bad)) => {
                let header = self.header(start)?;
                let end = self.rotten_end(header.as_ref(), start, limit)?;
                let header = header.filter(|header| header.end() == end);
                let crc = header.map(|header| digest::header_crc(&header.summary));
                Ok(Piece { start, end, crc, found: Found::Rotten(bad) })
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn header(&mut self, position: u64) -> io::Result<Option<Located>> {
        let summary = self.scan.header(position)?;
        Ok(summary.map(|summary| Located { position, summary }))
    }

    /// The end of the rotten bytes that begin at `start`. The end stated by their header counts if
    /// a batch begins there that continues the offsets. Otherwise the rotten bytes end at the next
    /// valid batch, wherever it is, and at `limit` at the latest.
    fn rotten_end(&mut self, header: Option<&Located>, start: u64, limit: u64) -> io::Result<u64> {
        if let Some(header) = header.filter(|header| header.end() < limit) {
            self.scan.go_to(header.end());
            if let Some(Scanned::Good(next)) = self.scan.next(&ANY)?
                && next.summary.base_offset == header.summary.next_offset()
            {
                return Ok(header.end());
            }
        }
        self.scan.go_to(start);
        let expected = Expected { epoch: LeaderEpoch::NONE, ..self.progress.expected };
        let found = self.scan.find_good(&expected, Some(self.chain.end))?;
        Ok(found.map_or(limit, |batch| batch.position.min(limit)))
    }

    fn proof(&self, digest: &HeaderDigest, pieces: &[Piece]) -> Proof {
        if digest.end > self.chain.size {
            return Proof::Nothing;
        }
        digest.proof(&pieces.iter().map(|piece| piece.crc).collect::<Vec<_>>())
    }

    /// Checks the parts of a stretch. `proof` is the result of its digest, if it has one.
    fn judge(&mut self, pieces: Vec<Piece>, proof: Option<Proof>) -> Vec<Checked> {
        let is_proven = matches!(proof, Some(Proof::All | Proof::AllBut(_)));
        let is_unproven = proof == Some(Proof::Nothing) && !self.is_told_by_chain(&pieces);
        let mut checked = Vec::with_capacity(pieces.len());
        for (index, Piece { start, end, found, .. }) in pieces.into_iter().enumerate() {
            self.progress.position = end;
            let judged = match found {
                Found::Known(known) => {
                    self.pass_known(known, &mut checked);
                    continue;
                }
                Found::Rotten(bad) => Err(bad),
                Found::Sound(_) if proof == Some(Proof::AllBut(index)) => Err(BadBatch::Header),
                Found::Sound(_) if is_unproven => Err(BadBatch::Unproven),
                Found::Sound(batch) => {
                    let admitted = self.chain.admits(&batch, &self.progress.expected, is_proven);
                    admitted.map(|()| batch)
                }
            };
            match judged {
                Ok(batch) => self.pass_good(batch, &mut checked),
                Err(bad) => self.pass_bad(start..end, bad),
            }
        }
        checked
    }

    /// Returns true if the chain of headers identifies the wrong headers of a stretch. It does not
    /// if offsets may have gaps, or if it finds no error.
    fn is_told_by_chain(&self, pieces: &[Piece]) -> bool {
        let mut expected = self.progress.expected;
        let is_placed = expected.dense || self.progress.open.is_some();
        if !self.chain.is_dense(expected.offset) || !is_placed {
            return false;
        }
        if self.chain.has_lost_bytes_behind(self.progress.position) {
            return true;
        }
        let mut follows = |piece: &Piece| match &piece.found {
            Found::Sound(batch) if self.chain.admits(batch, &expected, false).is_ok() => {
                let summary = &batch.summary;
                expected = self.chain.expected(summary.next_offset(), summary.leader_epoch);
                true
            }
            _ => false,
        };
        !pieces.iter().all(&mut follows)
    }

    fn pass_good(&mut self, batch: Located, checked: &mut Vec<Checked>) {
        let summary = &batch.summary;
        checked.extend(self.close(summary.base_offset));
        self.progress.expected = self.chain.expected(summary.next_offset(), summary.leader_epoch);
        checked.push(Checked::Good(batch));
    }

    fn pass_known(&mut self, known: Damage, checked: &mut Vec<Checked>) {
        checked.extend(self.close(known.first));
        let next = known.next.max(self.progress.expected.offset);
        self.progress.expected = self.chain.expected(next, self.progress.expected.epoch);
        checked.push(Checked::Known);
    }

    fn pass_bad(&mut self, bytes: Range<u64>, bad: BadBatch) {
        let Range { start, end } = bytes;
        let first = self.progress.expected.offset;
        // Only the next good batch shows how many offsets are lost with the bad one.
        self.progress.expected.dense = false;
        if let Some((damage, _)) = &mut self.progress.open {
            damage.end = end;
        } else {
            let damage = Damage { segment: self.base, start, end, first, next: first };
            self.progress.open = Some((damage, bad));
        }
    }

    /// Ends the open damage. `next` is the first offset after it.
    fn close(&mut self, next: Offset) -> Option<Checked> {
        let (damage, bad) = self.progress.open.take()?;
        let next = next.max(damage.first);
        Some(Checked::Bad(Damage { next, ..damage }, bad))
    }

    /// The findings at the end of the segment; `None` on later calls.
    fn finish(&mut self) -> Option<Vec<Checked>> {
        if self.progress.is_done {
            return None;
        }
        self.progress.is_done = true;
        let end = self.chain.end.max(self.progress.expected.offset);
        let found = self.close(end).or_else(|| self.missing_end());
        Some(found.into_iter().collect())
    }

    /// The damage of a segment whose last batches are missing.
    fn missing_end(&self) -> Option<Checked> {
        let Expected { offset: first, dense, .. } = self.progress.expected;
        let (size, next) = (self.chain.size, self.chain.end);
        // Compaction may have removed the last batches.
        let is_missing = self.chain.is_whole && (dense || self.chain.has_lost_bytes());
        let damage = Damage { segment: self.base, start: size, end: size, first, next };
        let is_known = || self.known.contains(&damage);
        let bad = BadBatch::CutHeader { left: 0 };
        (is_missing && first < next && !is_known()).then_some(Checked::Bad(damage, bad))
    }
}
