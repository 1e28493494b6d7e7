//! The number of images that a broker has applied, for tasks that wait for the next.
//!
//! tokio's `watch` wakes its receivers in a random order, which no seed determines.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A counter to wait for.
#[derive(Debug, Default)]
pub(super) struct AppliedImages {
    count: AtomicU64,
    more: Notify,
}

impl AppliedImages {
    /// Counts an image, and wakes all that wait.
    pub(super) fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.more.notify_waiters();
    }

    /// The number of images so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until there are more than `known`.
    pub(super) async fn beyond(&self, known: u64) {
        loop {
            let more = self.more.notified();
            if self.count() > known {
                return;
            }
            more.await;
        }
    }
}
