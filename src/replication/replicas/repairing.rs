//! The repair of a replica's damaged segments with records that its leader sends again.

use std::ops::Range;
use std::sync::Arc;

use crate::replication::Partition;
use crate::storage::{DamagedSegment, DataDir, Repair, RepairError, StorageError};
use crate::types::Offset;

/// A repair that has failed: nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct RepairFailed(#[from] RepairError);

/// A damaged segment of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repairable {
    /// The base offset of the segment.
    segment: Offset,
    /// The first offset that is wanted from the leader.
    pub wanted: Offset,
}

/// The repair of one segment of a replica. All calls block on the disk. A repair that is dropped
/// leaves the log as it was.
#[derive(Debug)]
pub struct SegmentRepair {
    repair: Repair,
    data: Arc<DataDir>,
}

impl From<StorageError> for RepairFailed {
    fn from(error: StorageError) -> Self {
        Self(error.into())
    }
}

impl Partition {
    /// Returns true if damage is known that no operator has skipped.
    pub fn has_damage(&self) -> bool {
        self.log().is_some_and(|log| log.has_damage())
    }

    /// The segments that can be repaired. Blocks on the disk.
    ///
    /// There are none in a compacted topic: a record that the leader has compacted away is absent
    /// there for good reason, but here an older one of its key may be left.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn repairable_segments(&self) -> Result<Vec<Repairable>, RepairFailed> {
        let Some(log) = self.log().filter(|_| !self.config().cleanup_policy.compact) else {
            return Ok(Vec::new());
        };
        let start = log.log_start_offset();
        let needed = Repair::needed(&log)?.into_iter();
        let repairable = |segment: DamagedSegment| {
            let stretch = segment.stretches.iter().find(|stretch| !stretch.is_empty());
            let wanted = stretch.map_or(segment.base, |stretch| stretch.start).max(start);
            Repairable { segment: segment.base, wanted }
        };
        Ok(needed.map(repairable).collect())
    }

    /// Begins to repair a segment. `None` if it cannot be repaired any more. Reads the segment.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn begin_repair(&self, found: Repairable) -> Result<Option<SegmentRepair>, RepairFailed> {
        let Some(log) = self.log() else { return Ok(None) };
        let data = Arc::clone(&self.logs().data);
        let begun = Repair::begin(&log, found.segment)?;
        Ok(begun.map(|repair| SegmentRepair { repair, data }))
    }
}

impl SegmentRepair {
    /// Lets the leader's records lack these offsets.
    pub fn expect_gaps(&mut self, gaps: impl IntoIterator<Item = Range<Offset>>) {
        self.repair.expect_gaps(gaps);
    }

    /// The offset from which records are wanted next; `None` once nothing is missing any more.
    ///
    /// # Errors
    /// Those of the disk, and damage that was not known. The repair cannot go on then.
    pub fn wants(&mut self) -> Result<Option<Offset>, RepairFailed> {
        Ok(self.repair.wants()?.map(|offsets| offsets.start))
    }

    /// Takes batches that the leader has sent from the wanted offset on.
    ///
    /// # Errors
    /// If they do not fit into this log, or the disk fails.
    pub fn take(&mut self, records: &[u8]) -> Result<(), RepairFailed> {
        Ok(self.repair.take(records)?)
    }

    /// Puts the repaired segment in the place of the damaged one. Returns false if the log has
    /// changed meanwhile.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(self) -> Result<bool, RepairFailed> {
        Ok(self.repair.finish(Some(&self.data))?)
    }
}
