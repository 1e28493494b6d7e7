//! The end offsets of a partition's leader epochs.

use crate::replication::{Partition, PartitionError};
use crate::types::{LeaderEpoch, Offset};

impl Partition {
    /// The largest leader epoch not above `epoch` and its end offset, raised to the log start
    /// offset. A follower or consumer compares it with its own log to detect divergence (KIP-101,
    /// KIP-320).
    ///
    /// `None` if `epoch` is after the current epoch, whose end this broker cannot know, or if it is
    /// an earlier epoch and there is no log.
    ///
    /// # Errors
    /// If this broker does not lead, the partition has stopped, or its log cannot be read.
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
            // An epoch may have ended below the log start offset, where no record can be read any
            // more.
            Some(log) => {
                let found = log.epochs().end_offset_for(epoch)?;
                // An epoch after all entries and before the current one has no records. It ends
                // where the current one will begin.
                let last = || log.epochs().latest().map(|last| (last.unwrap_or(epoch), end));
                let found = match found {
                    None if (LeaderEpoch(0)..self.epoch()).contains(&epoch) => Some(last()?),
                    found => found,
                };
                Ok(found.map(|(epoch, end)| (epoch, end.max(log.log_start_offset()))))
            }
            None => Ok(None),
        }
    }
}
