//! The damage of a partition, and skipping it.

use std::sync::Arc;

use crate::replication::{Partition, PartitionError};
use crate::storage::{DamagedStretch, SkippedStretch};
use crate::types::Offset;

impl Partition {
    /// The damaged stretches that are known. Waits for the disk.
    ///
    /// # Errors
    /// When the partition has stopped, or its log cannot be opened.
    pub fn damaged_stretches(self: &Arc<Self>) -> Result<Vec<DamagedStretch>, PartitionError> {
        self.open()?;
        Ok(self.log().map_or_else(|| Ok(Vec::new()), |log| log.damaged_stretches())?)
    }

    /// Looks how far damage goes that a reader has met at an offset, so that it can be skipped.
    /// Waits for the disk, holding nothing up.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn look_at_damage(&self, offset: Offset) -> Result<(), PartitionError> {
        let Some(log) = self.log() else { return Ok(()) };
        // What is found is written by the name of a file, which the next log of this name has too.
        match self.logs().data.hold(log) {
            Some(_hold) => Ok(log.check_around(offset)?),
            None => Ok(()),
        }
    }

    /// Lets readers pass over the damaged stretches in a range of offsets, its end excluded, since
    /// `by` wants it. Durable on return. Waits for the disk.
    ///
    /// # Errors
    /// `Repairable` while other replicas are in sync; `Skip` for a range that holds no damage, or
    /// only a part of some, and when the disk refuses.
    pub fn skip_damage(
        self: &Arc<Self>,
        (from, to): (Offset, Offset),
        by: &str,
    ) -> Result<Vec<SkippedStretch>, PartitionError> {
        self.open()?;
        let others = self.other_in_sync_replicas();
        if others > 0 {
            return Err(PartitionError::Repairable { others });
        }
        let Some(log) = self.log() else {
            let (wanted, end) = (from.get(), Offset::ZERO);
            return Err(PartitionError::OffsetOutOfRange { wanted, start: end, end });
        };
        Ok(self.logs().data.skip_damage(log, (from, to), by)?)
    }
}
