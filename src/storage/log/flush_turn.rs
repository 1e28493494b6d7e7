//! The turn of a log's flushes, and their listener.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::types::Offset;

/// Called with every flushed offset, after it is published.
pub(super) type FlushListener = Box<dyn Fn(Offset) + Send + Sync>;

/// The turn of a log's flushes, of which one runs at a time, and their listener.
#[derive(Default)]
pub(super) struct FlushTurn {
    /// Held for the duration of a flush.
    lock: Mutex<()>,
    listener: ArcSwapOption<FlushListener>,
    /// The time of the next check of the names, in milliseconds of the monotonic clock.
    next_check: AtomicU64,
}

/// The time for which a response that waits for no flush may rely on an earlier check of the names.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl FlushTurn {
    /// Waits for the flush that is under way, and prevents others while the guard lives.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the listener, replacing the previous one.
    pub(super) fn listen(&self, listener: FlushListener) {
        self.listener.store(Some(Arc::new(listener)));
    }

    /// Calls the listener.
    pub(super) fn notify(&self, flushed: Offset) {
        if let Some(listener) = &*self.listener.load() {
            listener(flushed);
        }
    }

    /// Returns true at most about once a second: the names are then checked.
    pub(super) fn is_check_due(&self, now: Duration) -> bool {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let next = self.next_check.load(Ordering::Relaxed);
        let interval = u64::try_from(CHECK_INTERVAL.as_millis()).unwrap_or(u64::MAX);
        // If several threads find it due at once, it does not matter how many of them check.
        now >= next && {
            self.next_check.store(now.saturating_add(interval), Ordering::Relaxed);
            true
        }
    }
}
