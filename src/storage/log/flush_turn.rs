//! The lock by which one flush of a log runs at a time, and the listener of flushes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::types::Offset;

/// Called with every flushed offset, after it is published.
pub(super) type OnFlushed = Box<dyn Fn(Offset) + Send + Sync>;

/// The lock by which one flush of a log runs at a time, and the listener of flushes.
#[derive(Default)]
pub(super) struct FlushTurn {
    /// Held for the duration of a flush.
    lock: Mutex<()>,
    listener: ArcSwapOption<OnFlushed>,
    /// The time of the next check that the names of the log's files still refer to them, in
    /// milliseconds of the monotonic clock.
    next_check: AtomicU64,
}

/// The least time between two checks that the files still have their names, made for appends that
/// are acknowledged before their flush (`Flusher::confirm`). Each flush makes this check too,
/// independently of them.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl FlushTurn {
    /// Waits for the flush that is under way, and prevents others while the guard lives.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the listener, replacing the previous one.
    pub(super) fn listen(&self, listener: OnFlushed) {
        self.listener.store(Some(Arc::new(listener)));
    }

    /// Calls the listener.
    pub(super) fn notify(&self, flushed: Offset) {
        if let Some(listener) = &*self.listener.load() {
            listener(flushed);
        }
    }

    /// Returns true at most about once a second: the caller then checks that the files' names still
    /// refer to them.
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
