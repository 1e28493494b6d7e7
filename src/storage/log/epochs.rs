//! The leader epochs in which a log is written: their starts and ends, and the lookup of an epoch's
//! end.

use std::sync::MutexGuard;

use crate::storage::log::tail::Tail;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::{EpochStart, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The leader epochs of a log.
#[derive(Clone, Copy)]
pub struct Epochs<'log> {
    tail: &'log TailLock,
}

impl<'log> Epochs<'log> {
    /// The leader epochs of the log with this tail.
    pub(super) fn new(tail: &'log TailLock) -> Self {
        Self { tail }
    }

    /// Starts `epoch` at the log end offset, which is returned. The epoch becomes durable before
    /// its first record is appended, by `prepare` or by the append.
    ///
    /// # Errors
    /// `EpochMismatch` if the log is in a later epoch, or has records of one.
    pub fn start(self, epoch: LeaderEpoch) -> Result<Offset, StorageError> {
        let mut tail = self.tail.writable()?;
        let start = tail.next_offset();
        self.tail.epochs().start(epoch, tail.epoch(), start)?;
        tail.start_epoch(epoch);
        Ok(start)
    }

    /// Makes durable what must precede the first record of an epoch: the directory and the epoch
    /// history. `append` calls it if no other caller has; it blocks on the disk.
    pub fn prepare(self) -> Result<(), StorageError> {
        let tail = self.tail.writable()?;
        if tail.is_prepared() {
            return Ok(());
        }
        let is_new = tail.active_segment().is_none();
        drop(tail);
        if is_new {
            self.tail.context().create_dir()?;
        }
        let stored = self.tail.epochs().store()?;
        self.tail.lock().note_stored_epoch(stored);
        Ok(())
    }

    /// Ends `epoch`, if it is the current one: the log refuses appends until another epoch starts.
    pub fn end(self, epoch: LeaderEpoch) {
        let mut tail = self.tail.lock();
        if tail.epoch() == epoch {
            tail.start_epoch(LeaderEpoch::NONE);
        }
    }

    /// Begins a change of the leader epoch: nothing is appended or truncated meanwhile. Waits until
    /// a truncation is done.
    pub fn change(self) -> EpochChange<'log> {
        EpochChange { tail: self.tail.lock() }
    }

    /// As `change`, but without waiting for the disk: `None` while a truncation goes on.
    pub fn try_change(self) -> Option<EpochChange<'log>> {
        Some(EpochChange { tail: self.tail.try_lock()? })
    }

    /// The answer to `OffsetForLeaderEpoch`: the last epoch of this log that is not above `epoch`,
    /// and its end offset. `None` if the log cannot determine it.
    pub fn end_offset_for(
        self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, StorageError> {
        // Read the end before the history, as `entries` demands.
        self.load()?;
        let log_end = self.tail.view().log_end();
        Ok(self.tail.epochs().end_offset_for(epoch, log_end))
    }

    /// The epoch of the record at `offset`; `None` before the first known epoch.
    #[cfg(any(test, feature = "internals"))]
    pub fn at(self, offset: Offset) -> Result<Option<LeaderEpoch>, StorageError> {
        let reached = self.entries()?.into_iter().rev().find(|entry| entry.start <= offset);
        Ok(reached.map(|entry| entry.epoch))
    }

    /// The latest epoch started or found in the log.
    pub fn latest(self) -> Result<Option<LeaderEpoch>, StorageError> {
        Ok(self.entries()?.last().map(|entry| entry.epoch))
    }

    /// All epochs, rising. A reader of the log's end reads it before these: records that were
    /// appended in between would count as records of the last epoch here, which may be an earlier
    /// one. Does not wait for the disk once the log is loaded.
    pub fn entries(self) -> Result<Vec<EpochStart>, StorageError> {
        self.load()?;
        Ok(self.tail.epochs().entries())
    }

    /// Loads the history, if the log is not loaded yet. Blocks on the disk then.
    ///
    /// # Errors
    /// If the log cannot be loaded.
    pub fn load(self) -> Result<(), StorageError> {
        if self.tail.is_loaded() { Ok(()) } else { self.tail.ensure_loaded() }
    }
}

/// A change of the leader epoch in which a log is written.
pub struct EpochChange<'log> {
    tail: MutexGuard<'log, Tail>,
}

impl EpochChange<'_> {
    /// Ends the current epoch if it is earlier than `next`: the log refuses appends until another
    /// epoch starts.
    pub fn end_before(&mut self, next: LeaderEpoch) {
        if self.tail.epoch() < next {
            self.tail.start_epoch(LeaderEpoch::NONE);
        }
    }

    /// Returns true if records wait for a flush to begin.
    pub fn has_unflushed(&self) -> bool {
        self.tail.unflushed().is_some()
    }

    /// Lets the log take batches that are fetched in a leader epoch, until the epoch ends.
    pub fn follow(&mut self, epoch: LeaderEpoch) {
        self.tail.start_epoch(epoch);
    }
}
