//! Leader epochs: starting an epoch, and looking up the end of one.

use crate::storage::log::Log;
use crate::storage::{EpochStart, StorageError};
use crate::types::{LeaderEpoch, Offset};

impl Log {
    /// Starts `epoch` at the log end offset, which is returned. The epoch becomes durable before
    /// its first record is appended, by `prepare` or by the append.
    ///
    /// # Errors
    /// `EpochMismatch` if the log has records of a later epoch.
    pub fn start_epoch(&self, epoch: LeaderEpoch) -> Result<Offset, StorageError> {
        let mut tail = self.writable_tail()?;
        let mut epochs = self.lock_epochs();
        if epoch < tail.epoch || !epochs.may_follow(epoch, tail.next_offset) {
            let partition = self.context.partition.clone();
            let current = epochs.latest().unwrap_or(LeaderEpoch::NONE);
            return Err(StorageError::EpochMismatch { partition, given: epoch, current });
        }
        epochs.note(epoch, tail.next_offset);
        drop(epochs);
        tail.epoch = epoch;
        tail.is_prepared = false;
        Ok(tail.next_offset)
    }

    /// The answer to `OffsetForLeaderEpoch`: the last epoch of this log that is not above `epoch`,
    /// and its end offset. `None` if the log cannot determine it.
    pub fn epoch_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, StorageError> {
        let log_end = self.loaded_tail()?.next_offset;
        Ok(self.lock_epochs().end_offset_for(epoch, log_end))
    }

    /// The epoch of the record at `offset`; `None` before the first known epoch.
    #[cfg(any(test, feature = "internals"))]
    pub fn epoch_at(&self, offset: Offset) -> Result<Option<LeaderEpoch>, StorageError> {
        drop(self.loaded_tail()?);
        Ok(self.lock_epochs().epoch_at(offset))
    }

    /// The latest epoch started or found in the log.
    #[cfg(any(test, feature = "internals"))]
    pub fn latest_epoch(&self) -> Result<Option<LeaderEpoch>, StorageError> {
        drop(self.loaded_tail()?);
        Ok(self.lock_epochs().latest())
    }

    /// All epochs, rising.
    pub fn epochs(&self) -> Result<Vec<EpochStart>, StorageError> {
        drop(self.loaded_tail()?);
        Ok(self.lock_epochs().entries().to_vec())
    }
}
