//! Reading past unknown damage: every batch is checked by itself, and everything else is passed
//! over.

use crate::storage::StorageError;
use crate::storage::segments::{BatchScan, Expected, Passed, Segment, Source};
use crate::types::{LeaderEpoch, Offset};

/// Adjacent sound batches of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoundRun {
    /// Position of the first batch.
    pub(crate) start: u64,
    /// Position after the last batch.
    pub(crate) end: u64,
    /// The base offset of the first batch.
    pub(crate) base_offset: Offset,
}

impl Segment {
    /// The first sound batch that contains `from` or follows it, and the sound batches directly
    /// after it that end below `below` and, except for the first, within `bytes_max`.
    pub(crate) fn sound_run(
        &self,
        from: Offset,
        below: Offset,
        bytes_max: u64,
    ) -> Result<Option<SoundRun>, StorageError> {
        let start = self.indexed_below(from)?.map_or(0, |batch| batch.position);
        let mut scan = BatchScan::new(Source::cached(&**self.file()), start, self.size()?);
        let mut expected = Expected { offset: self.base(), epoch: LeaderEpoch::NONE, dense: false };
        let mut run: Option<SoundRun> = None;
        let mut is_adjacent = true;
        while let Some(passed) =
            scan.pass(&expected).map_err(|error| self.refused("read", error))?
        {
            let Passed::Good(batch) = passed else {
                is_adjacent = false;
                continue;
            };
            let follows = std::mem::replace(&mut is_adjacent, true);
            if batch.summary.last_offset >= below {
                // The checksum does not cover the base offset. If this base offset is wrong,
                // batches below the limit may still follow.
                if run.is_some() {
                    break;
                }
                continue;
            }
            expected.offset = batch.summary.next_offset();
            expected.epoch = batch.summary.leader_epoch;
            if batch.summary.last_offset < from {
                continue;
            }
            match &mut run {
                None => {
                    let base_offset = batch.summary.base_offset;
                    run = Some(SoundRun { start: batch.position, end: batch.end(), base_offset });
                }
                Some(run) if !follows || batch.end() - run.start > bytes_max => break,
                Some(run) => run.end = batch.end(),
            }
        }
        Ok(run)
    }
}
