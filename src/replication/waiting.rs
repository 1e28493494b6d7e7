//! Requests that wait for a partition to make progress: acknowledgements to producers, parked
//! fetches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::types::Offset;

/// The waiting requests, each for an offset to be passed. `Notify` keeps a permit, so a request
/// that registers before it checks the offset cannot miss a wakeup.
#[derive(Debug, Default)]
pub struct Waiting {
    /// `None` until the first registration: most partitions never have one.
    queue: Mutex<Option<Box<Queue>>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiters: Vec<Waiter>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    beyond: Offset,
    wake: Arc<Notify>,
}

impl Waiting {
    /// Registers for one wakeup when progress passes `beyond` or the partition stops. Returns the
    /// ticket that cancels the registration.
    pub(super) fn register(&self, beyond: Offset, wake: &Arc<Notify>) -> u64 {
        let mut queue = self.lock();
        let queue = queue.get_or_insert_default();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiters.push(Waiter { ticket, beyond, wake: Arc::clone(wake) });
        ticket
    }

    pub(super) fn cancel(&self, ticket: u64) {
        if let Some(queue) = &mut *self.lock() {
            queue.waiters.retain(|waiter| waiter.ticket != ticket);
        }
    }

    /// True if no request waits.
    pub fn is_empty(&self) -> bool {
        self.lock().as_ref().is_none_or(|queue| queue.waiters.is_empty())
    }

    /// Wakes the requests whose offset is below `reached`.
    pub fn wake_below(&self, reached: Offset) {
        let mut queue = self.lock();
        let Some(queue) = &mut *queue else { return };
        queue.waiters.retain(|waiter| {
            let due = waiter.beyond < reached;
            if due {
                waiter.wake.notify_one();
            }
            !due
        });
    }

    /// Wakes all requests: the partition has stopped or changed its leader.
    pub fn wake_all(&self) {
        let mut queue = self.lock();
        for waiter in queue.iter_mut().flat_map(|queue| queue.waiters.drain(..)) {
            waiter.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Queue>>> {
        // The list is valid after any panic: each change is a single call.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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
        let waiting = Waiting::default();
        let (near, far) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        waiting.register(Offset::new(4), &near);
        waiting.register(Offset::new(5), &far);
        waiting.wake_below(Offset::new(5));
        assert!(woken(&near));
        assert!(!woken(&far));
        waiting.wake_all();
        assert!(woken(&far));
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_cancelled_registration_is_removed() {
        let waiting = Waiting::default();
        let ticket = waiting.register(Offset::ZERO, &Arc::new(Notify::new()));
        assert!(!waiting.is_empty());
        waiting.cancel(ticket);
        assert!(waiting.is_empty());
    }
}
