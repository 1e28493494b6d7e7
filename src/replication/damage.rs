//! Listing and skipping the damaged stretches of a partition.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::replication::{Partition, PartitionError};
use crate::storage::{DamagedStretch, LogDamage, SkippedStretch, StorageError};
use crate::types::Offset;

impl Partition {
    /// Notes the error of a read at `offset` if it is damage of records that all in-sync replicas
    /// have. Returns true if it is.
    pub fn note_damage(&self, error: &PartitionError, offset: Offset) -> bool {
        let is_damage = matches!(error, PartitionError::Storage(StorageError::Corrupt { .. }));
        let is_replicated = is_damage && offset < self.high_watermark();
        if is_replicated {
            self.has_met_damage.store(true, Ordering::Relaxed);
        }
        is_replicated
    }

    /// Notes that the log has no damage any more.
    pub fn note_repaired(&self) {
        self.has_met_damage.store(false, Ordering::Relaxed);
    }

    /// Returns true if a reader has met damage of replicated records since damage was last skipped
    /// or repaired.
    pub fn has_met_damage(&self) -> bool {
        self.has_met_damage.load(Ordering::Relaxed)
    }

    /// The known damaged stretches. Blocks on the disk.
    ///
    /// # Errors
    /// If this broker does not lead, the partition has stopped, or its log cannot be opened.
    pub fn damaged_stretches(self: &Arc<Self>) -> Result<Vec<DamagedStretch>, PartitionError> {
        self.open()?;
        self.check_running()?;
        Ok(self.log().map_or_else(|| Ok(Vec::new()), |log| LogDamage::of(&log).stretches())?)
    }

    /// Determines the extent of the damage that a reader met at `offset`, so that it can be
    /// skipped. Blocks on the disk, but holds no lock that an append needs.
    ///
    /// # Errors
    /// If the disk fails.
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
    /// `others` is the number of other in-sync replicas without known damage. Durable on return.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// `Repairable` unless `others` is 0, and `OffsetNotAvailable` while others may return. `Skip`
    /// if the range holds no damage or covers a stretch only in part. `OffsetOutOfRange` if there
    /// is no log, `Stopped`, or a storage error.
    pub fn skip_damage(
        self: &Arc<Self>,
        offsets: Range<Offset>,
        by: &str,
        others: usize,
    ) -> Result<Vec<SkippedStretch>, PartitionError> {
        self.open()?;
        self.check_running()?;
        self.current().check_end()?;
        if others > 0 {
            return Err(PartitionError::Repairable { others });
        }
        let Some(log) = self.log() else {
            let (wanted, end) = (offsets.start.get(), Offset::ZERO);
            return Err(PartitionError::OffsetOutOfRange { wanted, start: end, end });
        };
        let skipped = self.logs().data.skip_damage(&log, offsets, by)?;
        // A reader that meets another stretch notes it again.
        self.has_met_damage.store(false, Ordering::Relaxed);
        Ok(skipped)
    }
}
