//! The promise for an append, and waiting until it is kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::embedded::{EmbeddedError, Partition, parking};
use crate::storage::Appended;
use crate::types::Offset;

/// Records that were appended, and that will be on disk.
///
/// Dropping it loses nothing: the records are flushed all the same, by `flush.ms` at the latest.
/// Who appends many times and waits for the last ticket only has waited for all of a partition.
#[derive(Clone)]
pub struct Ticket {
    partition: Partition,
    appended: Appended,
}

impl Ticket {
    pub(super) fn new(partition: Partition, appended: Appended) -> Self {
        Self { partition, appended }
    }

    /// The offset of the first record; the others follow it one by one.
    pub fn base_offset(&self) -> Offset {
        self.appended.base_offset
    }

    /// The offset after the last record.
    pub fn next_offset(&self) -> Offset {
        self.appended.next_offset
    }

    /// Whether the records are on disk.
    ///
    /// # Errors
    /// When they never will be, as far as anybody can tell: the disk has failed, the topic is
    /// deleted, or the directory was closed before they were flushed.
    pub fn is_flushed(&self) -> Result<bool, EmbeddedError> {
        let led = self.partition.led();
        if led.log().is_some_and(|log| log.flushed_offset() >= self.next_offset()) {
            return Ok(true);
        }
        if let Some(reason) = self.partition.handle().failure() {
            return Err(EmbeddedError::Failed { reason });
        }
        led.check_running().map_err(|error| self.partition.refused(error))?;
        Ok(false)
    }

    /// Waits until the records are on disk, which it asks for at once.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub fn wait_flushed(&self) -> Result<(), EmbeddedError> {
        parking::wait(self.flushed())
    }

    /// Waits until the records are on disk, for `patience` at most, and tells whether they are.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub fn wait_flushed_for(&self, patience: Duration) -> Result<bool, EmbeddedError> {
        let clock = self.partition.handle().clock();
        match parking::wait_for(self.flushed(), patience, clock) {
            Some(done) => done.map(|()| true),
            None => Ok(false),
        }
    }

    /// Ready when the records are on disk. Any executor can poll it; none is needed.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub async fn flushed(&self) -> Result<(), EmbeddedError> {
        if self.is_flushed()? {
            return Ok(());
        }
        let stopping = self.partition.handle().stopping();
        let last = Offset::checked(self.next_offset().get() - 1).unwrap_or_default();
        let wake = Arc::new(Notify::new());
        loop {
            // Registered first and looked afterwards, so that nothing is missed.
            let _place = self.partition.led().wait_beyond(last, &wake);
            if self.is_flushed()? {
                return Ok(());
            }
            // One that stops in order flushes first; only a failure ends the wait from here.
            tokio::select! {
                () = wake.notified() => {}
                () = stopping.cancelled(), if !stopping.is_cancelled() => {}
            }
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, next) = (self.base_offset(), self.next_offset());
        write!(f, "Ticket({} {base}..{next})", self.partition.id())
    }
}
