//! Tickets for appended records, to wait until they are flushed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::embedded::led::Led;
use crate::embedded::{EmbeddedError, parking};
use crate::replication::Progress;
use crate::storage::Appended;
use crate::types::Offset;

/// A ticket for appended records that will be flushed.
///
/// Dropping it loses nothing: the records are flushed anyway, by `flush.ms` at the latest. Waiting
/// for the last of several tickets waits for all earlier appends to the partition.
#[derive(Clone)]
pub struct Ticket {
    led: Led,
    appended: Appended,
}

impl Ticket {
    pub(super) fn new(led: Led, appended: Appended) -> Self {
        Self { led, appended }
    }

    /// The offset of the first record; the offsets of the other records follow contiguously.
    pub fn base_offset(&self) -> Offset {
        self.appended.base_offset
    }

    /// The offset after the records; with `offset.unit=byte`, not always the one that follows the
    /// last record's offset.
    pub fn next_offset(&self) -> Offset {
        self.appended.next_offset
    }

    /// Returns true if the records are on disk.
    ///
    /// # Errors
    /// If the records will probably never be on disk: the disk has failed, the topic is deleted, or
    /// the directory was closed before they were flushed.
    pub fn is_flushed(&self) -> Result<bool, EmbeddedError> {
        let led = &self.led.partition;
        if led.log().is_some_and(|log| log.flushed_offset() >= self.next_offset()) {
            return Ok(true);
        }
        if let Some(reason) = self.led.handle.failure() {
            return Err(EmbeddedError::Failed { reason });
        }
        led.check_running().map_err(|error| self.led.refused(error))?;
        Ok(false)
    }

    /// Requests a flush and waits until the records are on disk.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub fn wait_flushed(&self) -> Result<(), EmbeddedError> {
        parking::wait(self.flushed())
    }

    /// Waits until the records are on disk, or for `patience`; returns true if they are.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub fn wait_flushed_for(&self, patience: Duration) -> Result<bool, EmbeddedError> {
        let clock = self.led.handle.clock();
        match parking::wait_for(self.flushed(), patience, clock) {
            Some(done) => done.map(|()| true),
            None => Ok(false),
        }
    }

    /// A future that is ready when the records are on disk. It works with any executor, and without
    /// one.
    ///
    /// # Errors
    /// As [`Ticket::is_flushed`].
    pub async fn flushed(&self) -> Result<(), EmbeddedError> {
        if self.is_flushed()? {
            return Ok(());
        }
        let stopping = self.led.handle.stopping();
        let last = Offset::checked(self.next_offset().get() - 1).unwrap_or_default();
        let wake = Arc::new(Notify::new());
        loop {
            // Register before the check, so that a flush between the two is not missed.
            let _place = self.led.partition.wait_for(Progress::Stored, last, &wake);
            if self.is_flushed()? {
                return Ok(());
            }
            // A clean shutdown flushes first. Once it has begun, only the flush or a failure ends
            // the wait.
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
        write!(f, "Ticket({} {base}..{next})", self.led.id())
    }
}
