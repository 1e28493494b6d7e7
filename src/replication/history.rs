//! The two ends of a partition's history: the end offset of each leader epoch, and the log start.

use crate::replication::{Partition, PartitionError};
use crate::types::{LeaderEpoch, Offset};

impl Partition {
    /// The largest leader epoch not above `epoch` and its end offset, raised to the log start
    /// offset. A follower or consumer compares it with its own log to detect divergence (KIP-101,
    /// KIP-320). `None` if no such epoch is recorded.
    ///
    /// # Errors
    /// If the partition has stopped, or its log cannot be read.
    pub fn epoch_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, PartitionError> {
        self.check_running()?;
        let end = self.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        if epoch == self.epoch() {
            // The current epoch may have no entry yet: it is recorded just before its first batch.
            return Ok(Some((epoch, end)));
        }
        match self.log() {
            // An epoch may have ended below the log start offset, where nobody can read any more.
            Some(log) => Ok(log
                .epoch_end(epoch)?
                .map(|(epoch, end)| (epoch, end.max(log.log_start_offset())))),
            None => Ok(None),
        }
    }

    /// Advances the log start offset to `first`, or to the high watermark without it, and returns
    /// the new log start offset. The new offset is durable on return; files of whole segments below
    /// it are removed in the background. Blocks on the disk.
    ///
    /// # Errors
    /// `OffsetOutOfRange` above the high watermark: those records are not yet visible to consumers.
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
            // If the topic is deleted meanwhile, the deletion removes these files too.
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
