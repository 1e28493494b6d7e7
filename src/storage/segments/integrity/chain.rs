//! The facts that the headers of one segment must agree with.

use std::sync::Arc;

use crate::storage::EpochStart;
use crate::storage::segments::scan::follows;
use crate::storage::segments::{BadBatch, Expected, HeaderDigest, Located};
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
    /// The digests of its headers, by rising position; there need not be any.
    pub(crate) digests: Arc<[HeaderDigest]>,
}

impl Chain {
    /// What follows a batch, or the beginning of the segment, that ends at `offset`.
    pub(crate) fn expected(&self, offset: Offset, epoch: LeaderEpoch) -> Expected {
        Expected { offset, epoch, dense: self.is_dense(offset) }
    }

    /// Whether the batch that begins at `offset` begins where the one before has ended.
    pub(super) fn is_dense(&self, offset: Offset) -> bool {
        offset >= self.dense_from
    }

    /// Whether a batch is one that comes next. Of one whose header is proven the epoch is not
    /// asked for: should the history have another, the history is wrong.
    pub(super) fn admits(
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
    pub(super) fn digest_at(&self, position: u64) -> Option<&HeaderDigest> {
        let after = self.digests.partition_point(|digest| digest.start <= position);
        let found = after.checked_sub(1).and_then(|index| self.digests.get(index));
        found.filter(|digest| digest.start == position)
    }

    /// The digest of the stretch that `position` lies in.
    pub(crate) fn digest_around(&self, position: u64) -> Option<&HeaderDigest> {
        let after = self.digests.partition_point(|digest| digest.start <= position);
        let found = after.checked_sub(1).and_then(|index| self.digests.get(index));
        found.filter(|digest| position < digest.end)
    }

    /// Where the bytes after `position` end that no digest speaks of, or that of which one does.
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

    /// Whether its file has lost bytes that a digest speaks of.
    pub(super) fn has_lost_bytes(&self) -> bool {
        self.is_whole && self.digests.last().is_some_and(|digest| digest.end > self.size)
    }

    /// Whether the stretch that begins at `position` has lost some of its bytes.
    pub(super) fn has_lost_bytes_behind(&self, position: u64) -> bool {
        self.digest_at(position).is_some_and(|digest| digest.end > self.size)
    }

    /// The epoch that the history gives to an offset.
    fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.epochs.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|index| self.epochs[index].epoch)
    }
}
