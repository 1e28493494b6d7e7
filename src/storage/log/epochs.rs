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
        let start = tail.next_offset();
        self.leader_epochs().start(epoch, tail.epoch(), start)?;
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
        if is_new {
            self.create_dir()?;
        }
        let stored = self.leader_epochs().store()?;
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
        Ok(self.leader_epochs().end_offset_for(epoch, log_end))
    }

    /// The epoch of the record at `offset`; `None` before the first known epoch.
    #[cfg(any(test, feature = "internals"))]
    pub fn epoch_at(&self, offset: Offset) -> Result<Option<LeaderEpoch>, StorageError> {
        let reached = self.epochs()?.into_iter().rev().find(|entry| entry.start <= offset);
        Ok(reached.map(|entry| entry.epoch))
    }

    /// The latest epoch started or found in the log.
    #[cfg(any(test, feature = "internals"))]
    pub fn latest_epoch(&self) -> Result<Option<LeaderEpoch>, StorageError> {
        Ok(self.epochs()?.last().map(|entry| entry.epoch))
    }

    /// All epochs, rising.
    pub fn epochs(&self) -> Result<Vec<EpochStart>, StorageError> {
        drop(self.loaded_tail()?);
        Ok(self.leader_epochs().entries())
    }
}
