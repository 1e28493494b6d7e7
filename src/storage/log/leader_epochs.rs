//! The leader epochs of a log, and their durable history.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::segments::LogContext;
use crate::storage::{EpochCache, EpochStart, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The leader epochs of a log. Its locks are taken after all other locks of the log.
#[derive(Debug)]
pub(super) struct LeaderEpochs {
    context: Arc<LogContext>,
    /// The history in memory; its lock is never held during a write to the disk.
    history: Mutex<EpochCache>,
    /// Held while the history is written, so that an older one never replaces a newer one.
    storing: Mutex<()>,
}

impl LeaderEpochs {
    /// No epochs, until `restore`.
    pub(super) fn new(context: &Arc<LogContext>) -> Self {
        let history = EpochCache::new(Arc::clone(&context.disk), &context.dir);
        let (history, storing) = (Mutex::new(history), Mutex::default());
        Self { context: Arc::clone(context), history, storing }
    }

    /// Takes over the history that was found on the disk.
    pub(super) fn restore(&self, history: EpochCache) {
        *self.lock() = history;
    }

    /// Starts `epoch`, which must not be below `lowest`, at the log end offset `start`; `store`
    /// makes it durable.
    ///
    /// # Errors
    /// `EpochMismatch` if `epoch` is below `lowest`, or if the log has records of a later epoch.
    pub(super) fn start(
        &self,
        epoch: LeaderEpoch,
        lowest: LeaderEpoch,
        start: Offset,
    ) -> Result<(), StorageError> {
        let mut history = self.lock();
        if epoch < lowest || !history.may_follow(epoch, start) {
            let partition = self.context.partition.clone();
            let current = history.latest().unwrap_or(LeaderEpoch::NONE);
            return Err(StorageError::EpochMismatch { partition, given: epoch, current });
        }
        history.note(epoch, start);
        Ok(())
    }

    /// Makes the history durable, and returns its latest epoch.
    pub(super) fn store(&self) -> Result<Option<LeaderEpoch>, StorageError> {
        self.write().map_err(|error| self.context.refused("write the epochs of", error))
    }

    /// Records the epochs of batches that are about to be appended at `end`, given with their base
    /// offsets. Durable on return.
    pub(super) fn record(
        &self,
        batches: impl Iterator<Item = (LeaderEpoch, Offset)>,
        end: Offset,
    ) -> Result<(), StorageError> {
        let mut history = self.lock();
        let mut has_changed = false;
        for (epoch, base_offset) in batches {
            has_changed |= history.note(epoch, base_offset);
        }
        drop(history);
        if !has_changed {
            return Ok(());
        }
        self.write().map(drop).map_err(|error| {
            // Forget these epochs: if the next attempt found them here, it would not store them.
            self.lock().forget_from(end);
            self.context.refused("write the epochs of", error)
        })
    }

    /// Drops the epochs from the log end offset `end` on. Durable on return.
    pub(super) fn truncate_to(&self, end: Offset) -> Result<(), StorageError> {
        let has_changed = self.lock().forget_from(end);
        let cut = if has_changed { self.write().map(drop) } else { Ok(()) };
        cut.map_err(|error| self.context.refused("cut the epochs of", error))
    }

    /// Drops the epochs that end at or below `start`. If that fails, they stay on the disk until
    /// the next write: entries of removed records do no harm, and recovery drops them.
    pub(super) fn advance_start(&self, start: Offset) {
        let has_changed = self.lock().forget_before(start);
        let stored = if has_changed { self.write().map(drop) } else { Ok(()) };
        stored.unwrap_or_else(|error| {
            let partition = &self.context.partition;
            tracing::warn!(%partition, %error, "old epochs stay on disk");
        });
    }

    /// The epoch of the last record of the log, which ends at `log_end`.
    pub(super) fn last_before(&self, log_end: Offset) -> LeaderEpoch {
        self.lock().last_before(log_end).unwrap_or(LeaderEpoch::NONE)
    }

    /// The last epoch that is not above `epoch`, and its end offset, as
    /// [`EpochCache::end_offset_for`].
    pub(super) fn end_offset_for(
        &self,
        epoch: LeaderEpoch,
        log_end: Offset,
    ) -> Option<(LeaderEpoch, Offset)> {
        self.lock().end_offset_for(epoch, log_end)
    }

    /// All epochs, rising.
    pub(super) fn entries(&self) -> Vec<EpochStart> {
        self.lock().entries().to_vec()
    }

    /// Writes the history durably, as it is now, and returns its latest epoch. Meanwhile others may
    /// read it, and change it.
    fn write(&self) -> io::Result<Option<LeaderEpoch>> {
        let _once = self.storing.lock().unwrap_or_else(PoisonError::into_inner);
        let history = self.lock().clone();
        history.store()?;
        Ok(history.latest())
    }

    fn lock(&self) -> MutexGuard<'_, EpochCache> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
