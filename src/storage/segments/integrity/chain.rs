//! The facts that the headers of a segment must agree with.

use std::sync::Arc;

use crate::storage::EpochStart;
use crate::storage::segments::scan::follows;
use crate::storage::segments::{BadBatch, Expected, HeaderDigest, Located};
use crate::types::{LeaderEpoch, Offset};

/// The facts about a log that the headers of a segment must agree with.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// The offset from which on batches follow one another without a gap.
    pub(crate) dense_from: Offset,
    /// The offset after the segment's last batch.
    pub(crate) end: Offset,
    /// The bytes of the segment that are checked.
    pub(crate) size: u64,
    /// True if the bytes must reach `end`, so that batches missing before it are damage.
    pub(crate) is_whole: bool,
    /// The epoch history, rising.
    pub(crate) epochs: Vec<EpochStart>,
    /// The digests of the segment's headers, by rising position; may be empty.
    pub(crate) digests: Arc<[HeaderDigest]>,
}

impl Chain {
    /// The expectation at `offset`, after a batch of this `epoch` or at the start of the segment.
    pub(crate) fn expected(&self, offset: Offset, epoch: LeaderEpoch) -> Expected {
        Expected { offset, epoch, dense: self.is_dense(offset) }
    }

    /// Returns true if a batch at `offset` must begin exactly where the preceding one ended.
    pub(super) fn is_dense(&self, offset: Offset) -> bool {
        offset >= self.dense_from
    }

    /// Checks that a batch may come next. The epoch of a batch with a proven header is not checked:
    /// if it differs from the history, the history is wrong.
    pub(in crate::storage::segments) fn admits(
        &self,
        batch: &Located,
        expected: &Expected,
        is_proven: bool,
    ) -> Result<(), BadBatch> {
        let (found, offset) = (batch.summary.leader_epoch, batch.summary.base_offset);
        let epoch = if is_proven { LeaderEpoch::NONE } else { expected.epoch };
        follows(&batch.summary, &Expected { epoch, ..*expected })?;
        if batch.summary.next_offset() > self.end {
            return Err(BadBatch::Offset { found: offset, expected: self.end });
        }
        let history = self.epoch_at(offset).filter(|epoch| !is_proven && *epoch != found);
        history.map_or(Ok(()), |before| Err(BadBatch::Epoch { found, before }))
    }

    /// The digest of the stretch that begins at `position`.
    pub(in crate::storage::segments) fn digest_at(&self, position: u64) -> Option<&HeaderDigest> {
        let after = self.digests.partition_point(|digest| digest.start <= position);
        let found = after.checked_sub(1).and_then(|index| self.digests.get(index));
        found.filter(|digest| digest.start == position)
    }

    /// The digest of the stretch that contains `position`.
    pub(crate) fn digest_around(&self, position: u64) -> Option<&HeaderDigest> {
        let after = self.digests.partition_point(|digest| digest.start <= position);
        let found = after.checked_sub(1).and_then(|index| self.digests.get(index));
        found.filter(|digest| position < digest.end)
    }

    /// As `digest_around`, but only if the file still has all of the stretch: otherwise the digest
    /// proves nothing.
    pub(crate) fn whole_digest_around(&self, position: u64) -> Option<&HeaderDigest> {
        self.digest_around(position).filter(|digest| digest.end <= self.size)
    }

    /// The end of the stretch that contains `position`; for bytes without a digest, the start of
    /// the next digest or the end of the segment.
    pub(super) fn digest_limit(&self, position: u64) -> u64 {
        let limit = self.digest_around(position).map_or_else(
            || {
                let after = self.digests.partition_point(|digest| digest.start <= position);
                self.digests.get(after).map_or(self.size, |digest| digest.start)
            },
            |digest| digest.end,
        );
        limit.min(self.size)
    }

    /// Returns true if the file has lost bytes that a digest covers.
    pub(super) fn has_lost_bytes(&self) -> bool {
        self.is_whole && self.digests.last().is_some_and(|digest| digest.end > self.size)
    }

    /// Returns true if the stretch that begins at `position` has lost some of its bytes.
    pub(super) fn has_lost_bytes_behind(&self, position: u64) -> bool {
        self.digest_at(position).is_some_and(|digest| digest.end > self.size)
    }

    /// The epoch of an offset according to the history.
    fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.epochs.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|index| self.epochs[index].epoch)
    }
}
