//! Judging the batches of a file: the only judge of what is damaged, for readers, the scrubber,
//! recovery and `streamlog log verify` alike.
//!
//! A stretch is taken apart first: batches whose checksums hold, and rotten bytes. Then the headers
//! are judged, since base offset, length, epoch and magic lie outside a batch's checksum: by the
//! stretch's digest, which says of each whether it is what was written, or without one by the batch
//! before, the next segment's base and the epoch history. Bad neighbours are one damage.

use std::io;

use crate::io::File;
use crate::storage::segments::integrity::digest::{self, Proof, STRETCH};
use crate::storage::segments::{
    BadBatch, BatchScan, Chain, Damage, Expected, HeaderDigest, HeaderDigests, Located, Medium,
    Scanned,
};
use crate::types::{LeaderEpoch, Offset};

/// What a check has found, in the order of the positions.
#[derive(Debug)]
pub(crate) enum Checked {
    /// A good batch.
    Good(Located),
    /// Damage that was known already.
    Known,
    /// Damage, and what is wrong with its first batch.
    Bad(Damage, BadBatch),
}

/// A check of the batches of one file, stretch by stretch.
#[derive(Debug)]
pub(crate) struct BatchCheck<'f> {
    scan: BatchScan<'f>,
    base: Offset,
    chain: &'f Chain,
    known: Vec<Damage>,
    place: &'f mut Place,
}

/// A check between two stretches.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) position: u64,
    pub(super) expected: Expected,
    /// Damage whose end was not found yet.
    open: Option<(Damage, BadBatch)>,
    /// The digests of sound stretches that had none.
    pub(super) gained: HeaderDigests,
    pub(super) is_done: bool,
}

/// Bytes of a stretch as they present themselves.
struct Piece {
    start: u64,
    end: u64,
    /// The CRC of its header; `None` where the bytes are none.
    crc: Option<u32>,
    found: Found,
}

enum Found {
    /// A batch whose checksum holds.
    Sound(Located),
    /// No such batch.
    Rotten(BadBatch),
    Known(Damage),
}

/// Any batch whose checksum holds.
const ANY: Expected = Expected { offset: Offset::ZERO, epoch: LeaderEpoch::NONE, dense: false };

impl Place {
    /// The beginning of a check at `position`, where `expected` comes next.
    pub(crate) fn at(position: u64, expected: Expected) -> Self {
        let gained = HeaderDigests::default();
        Self { position, expected, open: None, gained, is_done: false }
    }
}

impl Place {
    /// Whether damage was found of which it is not known yet how far it reaches.
    pub(super) fn is_in_damage(&self) -> bool {
        self.open.is_some()
    }
}

impl<'f> BatchCheck<'f> {
    /// A check of the segment that begins at `base` below the chain's size, from `place` on.
    /// Damage that is `known` is passed over.
    pub(crate) fn new(
        (file, medium): (&'f dyn File, Medium),
        base: Offset,
        chain: &'f Chain,
        known: Vec<Damage>,
        place: &'f mut Place,
    ) -> Self {
        let scan = BatchScan::new(file, place.position, chain.size, medium);
        Self { scan, base, chain, known, place }
    }

    /// Where the next stretch begins.
    pub(super) fn position(&self) -> u64 {
        self.place.position
    }

    /// Judges the next stretch; `None` at the end. Damage is returned once it is known how far it
    /// reaches.
    ///
    /// # Errors
    /// As the file's reads; the same call may be made again.
    pub(crate) fn stretch(&mut self) -> io::Result<Option<Vec<Checked>>> {
        let start = self.place.position;
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
            good.for_each(|batch| self.place.gained.pass(batch));
            self.place.gained.finish_stretch();
        }
        Ok(Some(checked))
    }

    /// Takes a stretch apart: up to the end of its digest, or about as many bytes without one.
    fn pieces(&mut self, has_digest: bool) -> io::Result<Vec<Piece>> {
        let start = self.place.position;
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
            // The headers of what is damaged may be good, and prove their neighbours.
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

    /// Where the rotten bytes end that begin at `start`: where their header says, if the batch
    /// there is the next one by their offsets, else at the next batch wherever it is.
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
        let expected = Expected { epoch: LeaderEpoch::NONE, ..self.place.expected };
        let found = self.scan.find_good(&expected, Some(self.chain.end))?;
        Ok(found.map_or(limit, |batch| batch.position.min(limit)))
    }

    fn proof(&self, digest: &HeaderDigest, pieces: &[Piece]) -> Proof {
        if digest.end > self.chain.size {
            return Proof::Nothing;
        }
        digest.proof(&pieces.iter().map(|piece| piece.crc).collect::<Vec<_>>())
    }

    /// Judges the pieces of one stretch, `proof` being what its digest tells if it has one.
    fn judge(&mut self, pieces: Vec<Piece>, proof: Option<Proof>) -> Vec<Checked> {
        let is_proven = matches!(proof, Some(Proof::All | Proof::AllBut(_)));
        let is_unproven = proof == Some(Proof::Nothing) && !self.is_told_by_chain(&pieces);
        let mut checked = Vec::with_capacity(pieces.len());
        for (index, Piece { start, end, found, .. }) in pieces.into_iter().enumerate() {
            self.place.position = end;
            let judged = match found {
                Found::Known(known) => {
                    self.pass_known(known, &mut checked);
                    continue;
                }
                Found::Rotten(bad) => Err(bad),
                Found::Sound(_) if proof == Some(Proof::AllBut(index)) => Err(BadBatch::Header),
                Found::Sound(_) if is_unproven => Err(BadBatch::Unproven),
                Found::Sound(batch) => {
                    let admitted = self.chain.admits(&batch, &self.place.expected, is_proven);
                    admitted.map(|()| batch)
                }
            };
            match judged {
                Ok(batch) => self.pass_good(batch, &mut checked),
                Err(bad) => self.pass_bad((start, end), bad),
            }
        }
        checked
    }

    /// Whether the chain of headers tells the wrong ones of a stretch. Where offsets may have gaps
    /// it does not, nor where it finds nothing wrong.
    fn is_told_by_chain(&self, pieces: &[Piece]) -> bool {
        let mut expected = self.place.expected;
        let is_placed = expected.dense || self.place.open.is_some();
        if !self.chain.is_dense(expected.offset) || !is_placed {
            return false;
        }
        if self.chain.has_lost_bytes_behind(self.place.position) {
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
        self.place.expected = self.chain.expected(summary.next_offset(), summary.leader_epoch);
        checked.push(Checked::Good(batch));
    }

    fn pass_known(&mut self, known: Damage, checked: &mut Vec<Checked>) {
        checked.extend(self.close(known.first));
        let next = known.next.max(self.place.expected.offset);
        self.place.expected = self.chain.expected(next, self.place.expected.epoch);
        checked.push(Checked::Known);
    }

    fn pass_bad(&mut self, (start, end): (u64, u64), bad: BadBatch) {
        let first = self.place.expected.offset;
        // How many offsets are lost with it only the next good batch tells.
        self.place.expected.dense = false;
        if let Some((damage, _)) = &mut self.place.open {
            damage.end = end;
        } else {
            let damage = Damage { segment: self.base, start, end, first, next: first };
            self.place.open = Some((damage, bad));
        }
    }

    /// Ends the damage under way, behind which `next` is the first offset.
    fn close(&mut self, next: Offset) -> Option<Checked> {
        let (damage, bad) = self.place.open.take()?;
        let next = next.max(damage.first);
        Some(Checked::Bad(Damage { next, ..damage }, bad))
    }

    /// What is found at the end, once.
    fn finish(&mut self) -> Option<Vec<Checked>> {
        if self.place.is_done {
            return None;
        }
        self.place.is_done = true;
        let end = self.chain.end.max(self.place.expected.offset);
        let found = self.close(end).or_else(|| self.missing_end());
        Some(found.into_iter().collect())
    }

    /// The damage of a segment whose last batches are missing.
    fn missing_end(&self) -> Option<Checked> {
        let Expected { offset: first, dense, .. } = self.place.expected;
        let (size, next) = (self.chain.size, self.chain.end);
        // Compaction may have taken the last batches away.
        let is_missing = self.chain.is_whole && (dense || self.chain.has_lost_bytes());
        let damage = Damage { segment: self.base, start: size, end: size, first, next };
        let is_known = || self.known.contains(&damage);
        let bad = BadBatch::CutHeader { left: 0 };
        (is_missing && first < next && !is_known()).then_some(Checked::Bad(damage, bad))
    }
}
