//! The two ends of a partition's history: where an epoch ended, and where the log begins.

use crate::replication::{Partition, PartitionError};
use crate::types::{LeaderEpoch, Offset};

impl Partition {
    /// The last epoch not above `epoch` and the offset at which it ended, not below the log's
    /// start, for a reader that wants to know whether its history is this one; `None` when nobody
    /// can tell.
    ///
    /// # Errors
    /// When the partition has stopped, or its log cannot be read.
    pub fn epoch_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, PartitionError> {
        self.check_running()?;
        let end = self.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        if epoch == self.epoch() {
            // The reign may not have appended anything yet.
            return Ok(Some((epoch, end)));
        }
        match self.log() {
            // Where the log began once is forgotten: nobody can read there.
            Some(log) => Ok(log
                .epoch_end(epoch)?
                .map(|(epoch, end)| (epoch, end.max(log.log_start_offset())))),
            None => Ok(None),
        }
    }

    /// Lets the log begin at `first`, the high watermark without it, and returns where it begins
    /// now. That is durable on return, and the files of whole segments before it are on their way
    /// out. Waits for the disk.
    ///
    /// # Errors
    /// `OffsetOutOfRange` above the high watermark: nobody has seen those records yet.
    pub fn delete_records(&self, first: Option<i64>) -> Result<Offset, PartitionError> {
        self.check_running()?;
        let high_watermark = self.high_watermark();
        let wanted = first.unwrap_or_else(|| high_watermark.get());
        let to = Offset::checked(wanted).filter(|offset| *offset <= high_watermark);
        let Some(to) = to else {
            let (start, end) = (self.log_start_offset(), high_watermark);
            return Err(PartitionError::OffsetOutOfRange { wanted, start, end });
        };
        let Some(log) = self.log() else { return Ok(Offset::ZERO) };
        if to > self.log_start_offset() {
            self.logs().data.advance_log_start(log, to)?;
            // A topic that is deleted meanwhile takes its files along; nothing is left to delete.
            let held = self.logs().data.hold(log);
            if held.is_some()
                && let Err(error) = log.delete_before_start(high_watermark)
            {
                tracing::warn!("deleted records of {} stay on disk for now: {error}", self.id());
            }
        }
        Ok(self.log_start_offset())
    }
}
