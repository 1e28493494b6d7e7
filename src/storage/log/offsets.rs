//! The offsets of a log that any thread may read at any time.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::types::Offset;

/// An offset with a single writer and any number of readers. A reader that sees it also sees all
/// writes made before it was published.
#[derive(Debug)]
pub(super) struct Published(AtomicI64);

/// The three bounds of a log: start ≤ flushed ≤ end.
#[derive(Debug)]
pub(super) struct Offsets {
    pub(super) log_start: Published,
    pub(super) flushed: Published,
    pub(super) log_end: Published,
}

impl Published {
    pub(super) fn new(offset: Offset) -> Self {
        Self(AtomicI64::new(offset.get()))
    }

    pub(super) fn get(&self) -> Offset {
        Offset::new(self.0.load(Ordering::Acquire))
    }

    pub(super) fn set(&self, offset: Offset) {
        self.0.store(offset.get(), Ordering::Release);
    }
}

impl Offsets {
    /// The bounds of a log that is flushed completely.
    pub(super) fn flushed(log_start: Offset, log_end: Offset) -> Self {
        assert!(log_start <= log_end, "the log starts at {log_start} and ends at {log_end}");
        Self {
            log_start: Published::new(log_start),
            flushed: Published::new(log_end),
            log_end: Published::new(log_end),
        }
    }
}
