//! Reading past unknown damage: every batch is checked by itself, and everything else is passed
//! over.

use crate::storage::StorageError;
use crate::storage::segments::{BatchScan, Expected, Located, Scanned, Segment, Source};
use crate::types::{LeaderEpoch, Offset};

/// Adjacent sound batches of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoundRun {
    /// Position of the first.
    pub(crate) start: u64,
    /// Position after the last.
    pub(crate) end: u64,
    /// The first offset of the first.
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
        while let Some((batch, follows)) = self.next_sound(&mut scan, &expected)? {
            if batch.summary.last_offset >= below {
                // A checksum does not cover the offsets. If these are wrong, valid batches follow.
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

    /// The next sound batch, and true if nothing was passed over to get to it.
    fn next_sound(
        &self,
        scan: &mut BatchScan<'_>,
        expected: &Expected,
    ) -> Result<Option<(Located, bool)>, StorageError> {
        let scanned = scan.next(expected).map_err(|error| self.refused("read", error))?;
        match scanned {
            None => Ok(None),
            Some(Scanned::Good(batch)) => Ok(Some((batch, true))),
            Some(Scanned::Bad(_)) => {
                let found = scan.find_good(expected, None);
                let found = found.map_err(|error| self.refused("read", error))?;
                if let Some(batch) = &found {
                    scan.go_to(batch.end());
                }
                Ok(found.map(|batch| (batch, false)))
            }
        }
    }
}
