//! A check of a segment that may pause, as the scrubber's does between two stretches.
//!
//! It returns its findings for the caller to record; damage that is known already is not reported
//! again.

use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::segments::{
    BatchCheck, Chain, CheckProgress, Checked, Damage, HeaderDigest, Loaded, Located, Medium,
    Segment, Source,
};
use crate::types::{LeaderEpoch, Offset};

/// The assumed size of a stretch without a digest: the usual size of a stretch, and a batch.
const UNDIGESTED: u64 = (1 << 20) + (64 << 10);

/// A check of every batch of a segment. It may pause between calls of [`SegmentCheck::advance`] for
/// any time.
#[derive(Debug)]
pub(in crate::storage) struct SegmentCheck {
    segment: Arc<Segment>,
    /// The number of truncations before the chain was put together.
    truncations: u64,
    chain: Chain,
    medium: Medium,
    start: u64,
    progress: CheckProgress,
    /// Damage that was found and not returned yet.
    found: Vec<Damage>,
    /// True if all bytes checked so far are sound.
    is_sound: bool,
}

impl SegmentCheck {
    /// A check of all batches of a segment below the chain's size, read from `medium`. The segment
    /// had `truncations` before the chain was put together.
    pub(in crate::storage) fn new(
        (segment, truncations): (Arc<Segment>, u64),
        chain: Chain,
        medium: Medium,
    ) -> Self {
        let progress = CheckProgress::at(0, chain.expected(segment.base(), LeaderEpoch::NONE));
        let (start, found, is_sound) = (0, Vec::new(), true);
        Self { segment, truncations, chain, medium, start, progress, found, is_sound }
    }

    /// Starts the check at the batch at `position`. Pass `batch` if its offset is known and no
    /// digest proves it.
    pub(in crate::storage) fn starting_at(self, position: u64, batch: Option<&Located>) -> Self {
        let offset = batch.map_or(self.segment.base(), |batch| batch.summary.base_offset);
        let mut expected = self.chain.expected(offset, LeaderEpoch::NONE);
        expected.dense &= batch.is_some();
        Self { start: position, progress: CheckProgress::at(position, expected), ..self }
    }

    /// The position of the first byte that is not checked yet.
    pub(in crate::storage) fn position(&self) -> u64 {
        self.progress.position
    }

    /// The segment that is checked.
    pub(in crate::storage) fn segment(&self) -> Arc<Segment> {
        Arc::clone(&self.segment)
    }

    /// The number of bytes, from the start of the segment, that are checked when the check is done.
    pub(in crate::storage) fn size(&self) -> u64 {
        self.chain.size
    }

    /// The end of the stretch that begins with the batch at `position`; an estimate if the stretch
    /// has no digest.
    pub(in crate::storage) fn stretch_end(&self, position: u64) -> u64 {
        let digest = self.chain.digest_at(position);
        digest.map_or(position + UNDIGESTED, |digest| digest.end).min(self.chain.size)
    }

    /// Returns true if all bytes that existed when the check began are checked.
    pub(in crate::storage) fn is_done(&self) -> bool {
        self.progress.is_done
    }

    /// Returns true if the check has found damage whose end is not known yet.
    pub(in crate::storage) fn ends_in_damage(&self) -> bool {
        self.progress.is_in_damage()
    }

    /// Checks whole stretches, from the current position until one ends at or beyond `until`, and
    /// returns the new damage.
    ///
    /// # Errors
    /// If the disk fails; the call may be repeated.
    pub(in crate::storage) fn advance(&mut self, until: u64) -> Result<Vec<Damage>, StorageError> {
        self.advance_with(None, until)
    }

    /// As [`SegmentCheck::advance`], but bytes that are `loaded` are not read again.
    pub(in crate::storage) fn advance_with(
        &mut self,
        loaded: Option<Loaded<'_>>,
        until: u64,
    ) -> Result<Vec<Damage>, StorageError> {
        let segment = Arc::clone(&self.segment);
        let source = Source { file: &**segment.file(), medium: self.medium, loaded };
        let (known, progress) = (segment.damages(), &mut self.progress);
        let mut check = BatchCheck::new(source, segment.base(), &self.chain, known, progress);
        while check.position() < until || check.position() >= self.chain.size {
            let stretch = check.stretch().map_err(|error| segment.refused("read", error))?;
            let Some(checked) = stretch else { break };
            for found in checked {
                match found {
                    Checked::Good(_) => continue,
                    Checked::Known => {}
                    Checked::Bad(damage, bad) => {
                        tracing::debug!(%damage, %bad, "no good batch");
                        self.found.push(damage);
                    }
                }
                self.is_sound = false;
            }
        }
        Ok(std::mem::take(&mut self.found))
    }

    /// Returns true if the segment was truncated since the check began. It may have grown again, to
    /// any size and with other batches.
    pub(in crate::storage) fn is_outdated(&self) -> bool {
        self.segment.truncations() != self.truncations
    }

    /// Returns true if the check is of a segment that ends at `end`, and the segment still has the
    /// size that was checked.
    pub(in crate::storage) fn is_of(&self, end: Offset) -> bool {
        let size = self.segment.size();
        self.chain.end == end && size.is_ok_and(|size| size == self.chain.size)
    }

    /// All digests of the segment, if all of it proved sound and some of its digests were missing.
    pub(in crate::storage) fn gained(&self) -> Option<Vec<HeaderDigest>> {
        let gained = self.progress.gained.all();
        let is_whole = self.chain.is_whole && self.progress.is_done && self.start == 0;
        (is_whole && self.is_sound && !gained.is_empty()).then(|| {
            let mut digests: Vec<_> = self.chain.digests.iter().copied().chain(gained).collect();
            digests.sort_unstable_by_key(|digest| digest.start);
            digests
        })
    }
}
