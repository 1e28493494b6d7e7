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
        let start = tail.next_offset();
        if epoch < tail.epoch() || !epochs.may_follow(epoch, start) {
            let partition = self.partition().clone();
            let current = epochs.latest().unwrap_or(LeaderEpoch::NONE);
            return Err(StorageError::EpochMismatch { partition, given: epoch, current });
        }
        epochs.note(epoch, start);
        drop(epochs);
        tail.start_epoch(epoch);
        Ok(start)
    }

    /// Makes durable what must precede the first record of an epoch: the directory and the epoch
    /// history. `append` calls it if no other caller has; it blocks on the disk.
    pub fn prepare(&self) -> Result<(), StorageError> {
        let tail = self.writable_tail()?;
        if tail.is_prepared() {
            return Ok(());
        }
        let is_new = tail.active_segment().is_none();
        drop(tail);
        let context = self.context();
        if is_new {
            self.create_dir()?;
        }
        let epochs = self.lock_epochs();
        epochs.store().map_err(|error| context.refused("write the epochs of", error))?;
        let stored = epochs.latest();
        drop(epochs);
        self.lock_tail().note_stored_epoch(stored);
        Ok(())
    }

    /// Creates the directory, durably, unless it exists.
    pub(super) fn create_dir(&self) -> Result<(), StorageError> {
        let context = self.context();
        let dir = &context.dir;
        let created = context.disk.create_dir(dir);
        created.map_err(|error| context.refused("create", error))?;
        let parent = dir.parent().unwrap_or(dir);
        let synced = context.disk.sync_dir(parent);
        synced.map_err(|error| StorageError::io("sync", parent, error))
    }

    /// Ends `epoch`, if it is the current one: the log refuses appends until another epoch starts.
    pub fn end_epoch(&self, epoch: LeaderEpoch) {
        let mut tail = self.lock_tail();
        if tail.epoch() == epoch {
            tail.start_epoch(LeaderEpoch::NONE);
        }
    }

    /// The answer to `OffsetForLeaderEpoch`: the last epoch of this log that is not above `epoch`,
    /// and its end offset. `None` if the log cannot determine it.
    pub fn epoch_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, StorageError> {
        let log_end = self.loaded_tail()?.next_offset();
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
