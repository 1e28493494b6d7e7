//! The offsets of a log that any thread may read at any time.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::types::Offset;

/// An offset with a single writer and any number of readers. A reader that sees it also sees all
/// writes made before it was published.
#[derive(Debug)]
struct Published(AtomicI64);

/// The bounds of a log: start ≤ flushed ≤ end, except while the log starts over. They are changed
/// under the tail's lock.
#[derive(Debug)]
pub(super) struct Offsets {
    log_start: Published,
    flushed: Published,
    log_end: Published,
    /// The rebuild point: indexes and producer snapshots on disk cover all records below it.
    rebuild: Published,
}

impl Published {
    fn new(offset: Offset) -> Self {
        Self(AtomicI64::new(offset.get()))
    }

    fn get(&self) -> Offset {
        Offset::new(self.0.load(Ordering::Acquire))
    }

    fn set(&self, offset: Offset) {
        self.0.store(offset.get(), Ordering::Release);
    }
}

impl Offsets {
    /// The bounds of a log that is flushed completely.
    pub(super) fn flushed_from(log_start: Offset, log_end: Offset) -> Self {
        assert!(log_start <= log_end, "the log starts at {log_start} and ends at {log_end}");
        Self {
            log_start: Published::new(log_start),
            flushed: Published::new(log_end),
            log_end: Published::new(log_end),
            rebuild: Published::new(log_end),
        }
    }

    pub(super) fn log_start(&self) -> Offset {
        self.log_start.get()
    }

    pub(super) fn flushed(&self) -> Offset {
        self.flushed.get()
    }

    pub(super) fn log_end(&self) -> Offset {
        self.log_end.get()
    }

    pub(super) fn rebuild(&self) -> Offset {
        self.rebuild.get()
    }

    /// Advances the log start to `to`, if it is lower; returns the new start.
    pub(super) fn advance_start(&self, to: Offset) -> Offset {
        let start = self.log_start().max(to);
        self.log_start.set(start);
        start
    }

    /// Publishes the end of an append.
    pub(super) fn set_log_end(&self, end: Offset) {
        self.log_end.set(end);
    }

    /// Publishes the end of a flush.
    pub(super) fn set_flushed(&self, to: Offset) {
        self.flushed.set(to);
    }

    /// Publishes the rebuild point.
    pub(super) fn set_rebuild(&self, to: Offset) {
        self.rebuild.set(to);
    }

    /// Ends the log at `end`.
    pub(super) fn truncate(&self, end: Offset) {
        self.flushed.set(self.flushed().min(end));
        self.log_end.set(end);
        self.rebuild.set(self.rebuild().min(end));
    }

    /// Makes the log empty: it begins and ends at `offset`.
    pub(super) fn start_over(&self, offset: Offset) {
        // Raise the start to the end first, and set it to `offset` last: in between, a reader sees
        // no offset that it could read.
        self.log_start.set(offset.max(self.log_end()));
        self.truncate(offset);
        self.log_end.set(offset);
        self.flushed.set(offset);
        self.rebuild.set(offset);
        self.log_start.set(offset);
    }
}
