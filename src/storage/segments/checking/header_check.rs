//! The check of headers that are read again before they are sent. Their bytes were checked, have
//! left the page cache since, and may come back from the medium changed.
//!
//! The batches from the last index entry before the wanted bytes on must follow one another, and
//! must agree with the digest of their stretch, if there is one. The active segment has digests up
//! to its last rebuild point.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::storage::segments::integrity::{Proof, header_crc};
use crate::storage::segments::{BatchWalk, Chain, Expected, HeaderDigest, Located, Segment};
use crate::storage::{EpochCache, StorageError, Stored};
use crate::types::{LeaderEpoch, Offset};

/// The headers that precede some bytes of a segment.
#[derive(Debug)]
pub(super) struct HeaderCheck<'s> {
    segment: &'s Segment,
    chain: Chain,
    position: u64,
    expected: Expected,
    /// The last digest used, and its result.
    stretch: Option<Stretch>,
}

#[derive(Debug)]
struct Stretch {
    digest: HeaderDigest,
    proof: Proof,
    /// The positions of the batches, and the CRCs of their headers.
    headers: Vec<(u64, Option<u32>)>,
}

impl<'s> HeaderCheck<'s> {
    /// A check that begins at the last batch at or before `position` with a known offset.
    pub(super) fn leading_to(segment: &'s Segment, position: u64) -> Result<Self, StorageError> {
        let digests = segment.digests()?;
        segment.release_digests();
        let context = segment.context();
        // If the history cannot be read, the log has already reported the error; check without the
        // history.
        let history = EpochCache::load(Arc::clone(&context.disk), &context.dir);
        let chain = Chain {
            dense_from: context.dense_from()?,
            end: Offset::new(i64::MAX),
            size: segment.size()?,
            is_whole: false,
            epochs: match history {
                Ok(Stored::Sound(epochs)) => epochs.entries().to_vec(),
                Ok(Stored::Absent | Stored::Damaged(_)) | Err(_) => Vec::new(),
            },
            digests,
        };
        let indexed = segment.indexed_at(position)?;
        let expected = indexed.map_or_else(
            || chain.expected(segment.base(), LeaderEpoch::NONE),
            |batch| Expected {
                offset: batch.summary.base_offset,
                epoch: LeaderEpoch::NONE,
                dense: true,
            },
        );
        let position = indexed.map_or(0, |batch| batch.position);
        let mut check = Self { segment, chain, position, expected, stretch: None };
        check.pass_damage();
        Ok(check)
    }

    /// The position of the next batch.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Checks the batch at the current position.
    ///
    /// # Errors
    /// `InvalidData` if its header differs from the one written; otherwise those of the file's
    /// reads.
    pub(super) fn pass(&mut self, batch: &Located) -> io::Result<()> {
        let is_proven = self.is_proven(batch)?;
        let wrong = |bad| io::Error::new(ErrorKind::InvalidData, bad);
        self.chain.admits(batch, &self.expected, is_proven).map_err(wrong)?;
        let summary = &batch.summary;
        self.expected = self.chain.expected(summary.next_offset(), summary.leader_epoch);
        self.position = batch.end();
        self.pass_damage();
        Ok(())
    }

    /// Returns true if a digest proves the header of a batch. Returns false if there is no digest,
    /// or if it proves nothing and no gap is allowed before the batch: the header is then only
    /// compared with its neighbours. Fails if the digest contradicts the header, or if it proves
    /// nothing where a gap is allowed.
    fn is_proven(&mut self, batch: &Located) -> io::Result<bool> {
        let digest = self.chain.digest_around(batch.position);
        let Some(digest) = digest.filter(|digest| digest.end <= self.chain.size) else {
            return Ok(false);
        };
        if self.stretch.as_ref().is_none_or(|stretch| stretch.digest != *digest) {
            self.stretch = Some(Stretch::read(self.segment, *digest)?);
        }
        let Some(Stretch { proof, headers, .. }) = &self.stretch else { return Ok(false) };
        let number = headers.iter().position(|(position, _)| *position == batch.position);
        let is_told = match (proof, number) {
            (Proof::All, Some(number)) => Some(number),
            (Proof::AllBut(wrong), Some(number)) if *wrong != number => Some(number),
            _ => None,
        };
        let crc = Some(header_crc(&batch.summary));
        match is_told {
            Some(number) if headers[number].1 == crc => Ok(true),
            None if *proof == Proof::Nothing && self.expected.dense => Ok(false),
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn pass_damage(&mut self) {
        let context = self.segment.context();
        while let Some(damage) = context.damages.at(self.segment.base(), self.position)
            && damage.end > self.position
        {
            self.position = damage.end;
            self.expected = self.chain.expected(damage.next, self.expected.epoch);
        }
    }
}

impl Stretch {
    /// Reads the headers that `digest` covers.
    fn read(segment: &Segment, digest: HeaderDigest) -> io::Result<Self> {
        let mut walk = BatchWalk::new(&**segment.file(), digest.start, digest.end);
        let mut headers = Vec::new();
        while walk.position() < digest.end {
            let position = walk.position();
            match walk.next() {
                Ok(batch) => {
                    let crc = batch.map(|batch| header_crc(&batch.summary));
                    headers.push((position, crc));
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    headers.push((position, None));
                    let damage = segment.context().damages.at(segment.base(), position);
                    walk.go_to(damage.map_or(digest.end, |damage| damage.end));
                }
                Err(error) => return Err(error),
            }
        }
        let crcs: Vec<_> = headers.iter().map(|(_, crc)| *crc).collect();
        Ok(Self { proof: digest.proof(&crcs), digest, headers })
    }
}
