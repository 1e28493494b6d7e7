//! Who waits for a partition to move on: answers to producers, parked fetches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::types::Offset;

/// Those who wait, each for an offset to be covered. Waking is by `Notify`, which keeps a permit:
/// who registers first and looks afterwards misses nothing.
#[derive(Debug, Default)]
pub struct Waiting {
    waiters: Mutex<Vec<Waiter>>,
    next_ticket: AtomicU64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    beyond: Offset,
    wake: Arc<Notify>,
}

/// A place among those who wait, given up when dropped.
#[derive(Debug)]
pub struct Registration {
    waiting: Arc<Waiting>,
    ticket: u64,
}

impl Waiting {
    /// Asks to be woken once when progress is made beyond `beyond`, or the partition stops.
    pub fn register(self: &Arc<Self>, beyond: Offset, wake: &Arc<Notify>) -> Registration {
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let waiter = Waiter { ticket, beyond, wake: Arc::clone(wake) };
        self.lock().push(waiter);
        Registration { waiting: Arc::clone(self), ticket }
    }

    /// Whether anybody waits.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Wakes those whose offset now lies below `reached`.
    pub fn wake_below(&self, reached: Offset) {
        self.lock().retain(|waiter| {
            let due = waiter.beyond < reached;
            if due {
                waiter.wake.notify_one();
            }
            !due
        });
    }

    /// Wakes everybody: the partition has stopped or changed its leader.
    pub fn wake_all(&self) {
        for waiter in self.lock().drain(..) {
            waiter.wake.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiter>> {
        // The list is valid after any panic: each change is a single call.
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.waiting.lock().retain(|waiter| waiter.ticket != self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woken(notify: &Notify) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let wait = std::time::Duration::from_millis(1);
        runtime.block_on(async { tokio::time::timeout(wait, notify.notified()).await.is_ok() })
    }

    #[test]
    fn only_those_whose_offset_is_passed_are_woken() {
        let waiting = Arc::new(Waiting::default());
        let (near, far) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let _near = waiting.register(Offset::new(4), &near);
        let _far = waiting.register(Offset::new(5), &far);
        waiting.wake_below(Offset::new(5));
        assert!(woken(&near));
        assert!(!woken(&far));
        waiting.wake_all();
        assert!(woken(&far));
        assert!(waiting.is_empty());
    }

    #[test]
    fn who_gives_up_leaves_no_trace() {
        let waiting = Arc::new(Waiting::default());
        drop(waiting.register(Offset::ZERO, &Arc::new(Notify::new())));
        assert!(waiting.is_empty());
    }
}
