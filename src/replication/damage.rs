//! Listing and skipping the damaged stretches of a partition.

use std::ops::Range;
use std::sync::Arc;

use crate::replication::{Partition, PartitionError};
use crate::storage::{DamagedStretch, LogDamage, SkippedStretch};
use crate::types::Offset;

impl Partition {
    /// The known damaged stretches. Blocks on the disk.
    ///
    /// # Errors
    /// If the partition has stopped, or its log cannot be opened.
    pub fn damaged_stretches(self: &Arc<Self>) -> Result<Vec<DamagedStretch>, PartitionError> {
        self.open()?;
        self.check_running()?;
        Ok(self.log().map_or_else(|| Ok(Vec::new()), |log| LogDamage::of(&log).stretches())?)
    }

    /// Determines the extent of the damage that a reader met at `offset`, so that it can be
    /// skipped. Blocks on the disk, but holds no lock that an append needs.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn locate_damage(&self, offset: Offset) -> Result<(), PartitionError> {
        let Some(log) = self.log() else { return Ok(()) };
        // Findings are stored under the log's file name, which a later log of the same partition
        // reuses: the hold keeps this log from being removed meanwhile.
        match self.logs().data.hold(&log) {
            Some(_hold) => Ok(LogDamage::of(&log).check_around(offset)?),
            None => Ok(()),
        }
    }

    /// Lets readers pass over the damaged stretches within a range of offsets, on behalf of `by`.
    /// Durable on return. Blocks on the disk.
    ///
    /// # Errors
    /// `Repairable` while other replicas are in sync; `Skip` if the range holds no damage or covers
    /// a stretch only in part; a storage error if the disk fails.
    pub fn skip_damage(
        self: &Arc<Self>,
        offsets: Range<Offset>,
        by: &str,
    ) -> Result<Vec<SkippedStretch>, PartitionError> {
        self.open()?;
        self.check_running()?;
        let others = self.other_in_sync_replicas();
        if others > 0 {
            return Err(PartitionError::Repairable { others });
        }
        let Some(log) = self.log() else {
            let (wanted, end) = (offsets.start.get(), Offset::ZERO);
            return Err(PartitionError::OffsetOutOfRange { wanted, start: end, end });
        };
        Ok(self.logs().data.skip_damage(&log, offsets, by)?)
    }
}
