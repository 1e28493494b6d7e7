//! Checks of the stored bytes.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::log::epochs::Epochs;
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::tail::Segments;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::{Chain, Damage, Medium, Segment, SegmentCheck};
use crate::types::Offset;

/// The number of bytes of a segment that are checked at a time; the findings are recorded after
/// each.
const CHECK_BYTES: u64 = 8 << 20;

/// The number of bytes read ahead for a sequential reader.
const READ_AHEAD: u64 = 4 << 20;

/// The checks of a log's stored bytes.
#[derive(Clone, Copy, Debug)]
pub struct Checks<'log> {
    tail: &'log TailLock,
    removed_files: &'log RemovedFiles,
}

impl<'log> Checks<'log> {
    /// The checks of the log with this tail.
    pub(in crate::storage::log) fn new(
        tail: &'log TailLock,
        removed_files: &'log RemovedFiles,
    ) -> Self {
        Self { tail, removed_files }
    }

    /// The number of damaged stretches found since the log was opened.
    #[cfg(any(test, feature = "internals"))]
    pub fn damage_found(self) -> u64 {
        self.tail.context().damages.found()
    }

    /// The known damage.
    #[cfg(any(test, feature = "internals"))]
    pub fn damages(self) -> Vec<Damage> {
        self.tail.segments().iter().flat_map(|segment| segment.damages()).collect()
    }

    /// The base offsets of the segments, oldest first.
    pub fn segment_bases(self) -> Vec<Offset> {
        self.tail.segments().iter().map(|segment| segment.base()).collect()
    }

    /// A check of the segment that begins at `base`; `None` if it was removed. Blocks on the disk.
    /// Pass the damage that it finds to [`Checks::record`].
    pub(in crate::storage) fn check_segment(
        self,
        base: Offset,
        medium: Medium,
    ) -> Result<Option<SegmentCheck>, StorageError> {
        let segments = self.tail.segments();
        let Some(number) = segments.iter().position(|segment| segment.base() == base) else {
            return Ok(None);
        };
        let segment = Arc::clone(&segments[number]);
        // Count before the chain is put together: a truncation in between then voids the check.
        let truncations = segment.truncations();
        let chain = self.chain_of(&segments, number)?;
        Ok(Some(SegmentCheck::new((segment, truncations), chain, medium)))
    }

    /// Records the damage that a check has found, if the log still has the segment as it was when
    /// the check began. Returns false if not: the check then compares bytes with those that a
    /// truncation or a compaction has replaced, and what it finds says nothing.
    pub(in crate::storage) fn record(self, check: &SegmentCheck, found: &[Damage]) -> bool {
        if found.is_empty() {
            return true;
        }
        // Held by truncations, retention and compaction too, so that the segment stays as it is
        // until its damage is recorded.
        let _segments = self.removed_files.hold();
        let is_listed = self.tail.segments().position_of(&check.segment()).is_some();
        let is_current = is_listed && !check.is_outdated();
        if is_current {
            self.tail.context().record_damage(found);
        }
        is_current
    }

    /// Stores the digests that a check of a whole segment has computed.
    pub(in crate::storage) fn keep_digests(self, check: &SegmentCheck) {
        let segment = check.segment();
        if let Some(digests) = check.gained() {
            // A segment that was replaced, truncated or removed meanwhile has other digests, or
            // none.
            let _segments = self.removed_files.hold();
            let segments = self.tail.segments();
            let number = segments.position_of(&segment);
            let end = number.and_then(|number| segments.next_base(number));
            let end = end.filter(|end| check.is_of(*end) && !check.is_outdated());
            let kept = end.map_or(Ok(()), |end| segment.gain_digests(digests, end));
            kept.unwrap_or_else(|error| {
                let partition = &self.tail.context().partition;
                tracing::warn!(%partition, %error, "digests are not on disk");
            });
        }
        segment.release_digests();
    }

    /// Checks a range of batches and marks it as verified. If it finds an error, it checks the
    /// whole segment to learn the bounds of the damage. Returns true if the range is sound.
    ///
    /// A stretch with a digest is checked as a whole, so more than the range may be verified. A
    /// range up to the segment's end is sound only if no batch is missing behind it.
    pub(super) fn check_range(
        self,
        segment: &Arc<Segment>,
        range: Range<u64>,
    ) -> Result<bool, StorageError> {
        let segments = self.tail.segments();
        let Some(number) = segments.position_of(segment) else {
            return Err(segment.refused("read", ErrorKind::NotFound.into()));
        };
        // If the check reaches the segment's end, its last offset must match the next segment's
        // base: a segment in between may have been lost.
        let chain = self.chain_of(&segments, number)?;
        let size = chain.size;
        let last = range.end.checked_sub(1);
        let digest = last.and_then(|last| chain.whole_digest_around(last));
        let end = digest.map_or(range.end, |digest| digest.end);
        let ahead = (end + read_ahead(segment, range.start)).min(size);
        let mut check = check_at(segment, chain, range.start, Medium::Cache)?;
        let start = check.position();
        let file = segment.file();
        // Look up the last byte first: it is the byte most likely to be missing, and a lookup of
        // one byte is cheap.
        let is_cached =
            start < ahead && file.is_cached(ahead - 1, 1) && file.is_cached(start, ahead - start);
        // If all bytes are in memory, one check of them costs less than a check for each of the
        // reads that follow.
        let until = if is_cached { ahead } else { end };
        loop {
            let from = check.position();
            let piece = (from + CHECK_BYTES).min(ahead);
            if !is_cached && from < piece {
                file.read_ahead(from, piece - from);
            }
            if !self.advance(segment, &mut check, until.min(piece))? {
                return Ok(false);
            }
            if check.is_done() || check.position() >= until {
                break;
            }
        }
        if check.position() >= size {
            segment.release_digests();
        }
        // Damage may have become known since the range was located.
        let is_in_range = |damage: &Damage| damage.start < range.end && damage.end > range.start;
        Ok(!segment.damages().iter().any(is_in_range))
    }

    /// Continues a check up to `until`, and marks the bytes as verified. If it finds an error, it
    /// checks the whole segment, and returns false.
    fn advance(
        self,
        segment: &Segment,
        check: &mut SegmentCheck,
        until: u64,
    ) -> Result<bool, StorageError> {
        let checking = segment.verified().begin_check(check.position());
        let found = check.advance(until)?;
        if !found.is_empty() || check.ends_in_damage() {
            drop(checking);
            self.check_whole_segment(segment.base())?;
            return Ok(false);
        }
        let damages: Vec<_> = segment.damages().iter().map(Damage::bytes).collect();
        checking.mark_verified_to(check.position(), &damages);
        Ok(true)
    }

    /// Checks the segment that begins at `base`, records its damage and marks all other bytes as
    /// verified.
    pub(super) fn check_whole_segment(self, base: Offset) -> Result<(), StorageError> {
        let Some(mut check) = self.check_segment(base, Medium::Cache)? else { return Ok(()) };
        let segment = check.segment();
        while !check.is_done() {
            let start = check.position();
            segment.file().read_ahead(start, (2 * CHECK_BYTES).min(check.size() - start));
            let checking = segment.verified().begin_check(start);
            let found = check.advance(start + CHECK_BYTES)?;
            if !self.record(&check, &found) {
                break;
            }
            if !check.ends_in_damage() {
                let damages = segment.damages();
                let damages: Vec<_> = damages.iter().map(Damage::bytes).collect();
                checking.mark_verified_to(check.position(), &damages);
            }
        }
        self.keep_digests(&check);
        Ok(())
    }

    /// Checks a closed segment, unless it is verified already: compaction must not copy damage into
    /// a new segment.
    ///
    /// # Errors
    /// `Corrupt` if it has damage that the operator has not skipped.
    pub(in crate::storage) fn require_sound(
        self,
        segment: &Arc<Segment>,
    ) -> Result<(), StorageError> {
        let size = segment.size()?;
        if !(segment.verified().covers(0, size) && segment.file().is_cached(0, size)) {
            self.check_whole_segment(segment.base())?;
        }
        let context = self.tail.context();
        let damages = segment.damages();
        let unskipped = damages.iter().find(|damage| !context.is_skipped(damage));
        unskipped.map_or(Ok(()), |damage| Err(context.damaged(damage)))
    }

    /// The facts that the headers of a segment must agree with.
    pub(super) fn chain_of(
        self,
        segments: &Segments,
        number: usize,
    ) -> Result<Chain, StorageError> {
        // A history that cannot be read, because a later release has written it, keeps nobody from
        // reading: the digests prove the epochs too.
        let epochs = Epochs::new(self.tail).entries().unwrap_or_default();
        let dense_from = self.tail.context().dense_from()?;
        let segment = &segments[number];
        let (size, end, digests) = if let Some(end) = segments.next_base(number) {
            (segment.size()?, end, segment.digests()?)
        } else {
            // Hold the tail: an append between reading the size and the next offset would make them
            // disagree.
            let tail = self.tail.loaded().unwrap_or_else(|_| self.tail.lock());
            let digests = match tail.active(segment) {
                Some(active) => active.digests().all().into(),
                None => segment.digests()?,
            };
            // The log may go on in another segment since the segments were listed.
            let now = self.tail.segments();
            let end = now.position_of(segment).and_then(|number| now.next_base(number));
            (segment.size()?, end.unwrap_or_else(|| tail.next_offset()), digests)
        };
        Ok(Chain { dense_from, end, size, is_whole: true, epochs, digests })
    }
}

/// A check of a segment, beginning with the stretch or the batch that contains `position`.
pub(super) fn check_at(
    segment: &Arc<Segment>,
    chain: Chain,
    position: u64,
    medium: Medium,
) -> Result<SegmentCheck, StorageError> {
    let first = chain.whole_digest_around(position).map(|digest| digest.start);
    let check = SegmentCheck::new((Arc::clone(segment), segment.truncations()), chain, medium);
    Ok(match first {
        Some(0) => check,
        Some(start) => check.starting_at(start, None),
        None => match segment.indexed_at(position)? {
            Some(batch) => check.starting_at(batch.position, Some(&batch)),
            None => check,
        },
    })
}

/// The number of bytes to read ahead after a read at `position`: none unless the read begins at the
/// start of the segment or at the end of verified bytes, as a sequential reader's does.
fn read_ahead(segment: &Segment, position: u64) -> u64 {
    let is_sequential = position == 0 || segment.verified().covers(position - 1, 1);
    if is_sequential { READ_AHEAD } else { 0 }
}

#[cfg(test)]
mod tests {
    use crate::storage::world_tests::{World, append_at, at, batch};
    use crate::types::Offset;

    #[test]
    fn a_segment_that_is_rolled_while_its_check_begins_ends_where_the_next_one_begins() {
        let world = World::with_segments_of(batch(&["a"]).len() as u64 * 2);
        let log = world.start();
        for letter in ["a", "b"] {
            append_at(&log, &[letter], at()).unwrap();
        }
        let listed = log.segments();
        append_at(&log, &["c"], at()).unwrap();
        assert_eq!(world.segments(), [0, 2]);
        assert_eq!(log.checks().chain_of(&listed, 0).unwrap().end, Offset::new(2));
    }
}
