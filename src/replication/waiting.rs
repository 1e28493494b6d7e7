//! Requests that wait for a partition to make progress: acknowledgements to producers, parked
//! fetches.
//!
//! The fetch session of a follower registers once for all that happens, as with epoll, and each of
//! its fetches looks only at the partitions that are ready: it touches none of thousands of idle
//! ones.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::types::{Offset, PartitionKey};

/// The kind of progress that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This replica has stored a record as its topic requires.
    Stored,
    /// The high watermark covers a record.
    Replicated,
    /// This replica has appended a record, or removed records from the start of the log.
    Appended,
    /// A follower has removed the records up to an offset.
    Removed,
}

/// The waiting requests, each for an offset to be passed, and the fetch sessions of followers.
/// `Notify` keeps a permit, so a request that registers before it checks the offset cannot miss a
/// wakeup.
#[derive(Debug, Default)]
pub struct Waiting {
    /// `None` until the first registration: most partitions of a single broker never have one.
    queue: Mutex<Option<Box<Queue>>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiters: Vec<Waiter>,
    interested: Vec<Interested>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    awaited: Progress,
    beyond: Offset,
    wake: Arc<Notify>,
}

/// A follower's fetch session.
#[derive(Debug)]
struct Interested {
    ticket: u64,
    /// This partition.
    key: PartitionKey,
    list: Arc<ReadyList>,
}

/// The partitions of one fetch session in which something has happened since it last took them.
#[derive(Debug, Default)]
pub struct ReadyList {
    ready: Mutex<BTreeSet<PartitionKey>>,
    woken: Notify,
}

impl Waiting {
    /// Registers for one wakeup when progress passes `beyond`, or the role of this broker changes.
    /// Returns the ticket that cancels the registration.
    pub(super) fn register(&self, awaited: Progress, beyond: Offset, wake: &Arc<Notify>) -> u64 {
        let mut queue = self.lock();
        let queue = queue.get_or_insert_default();
        let ticket = queue.ticket();
        queue.waiters.push(Waiter { ticket, awaited, beyond, wake: Arc::clone(wake) });
        ticket
    }

    /// Adds this partition to a list after each event, until the ticket is cancelled.
    pub(super) fn note_in(&self, key: PartitionKey, list: &Arc<ReadyList>) -> u64 {
        let mut queue = self.lock();
        let queue = queue.get_or_insert_default();
        let ticket = queue.ticket();
        queue.interested.push(Interested { ticket, key, list: Arc::clone(list) });
        ticket
    }

    pub(super) fn cancel(&self, ticket: u64) {
        if let Some(queue) = &mut *self.lock() {
            queue.waiters.retain(|waiter| waiter.ticket != ticket);
            queue.interested.retain(|interested| interested.ticket != ticket);
        }
    }

    /// True if no request waits.
    pub fn is_empty(&self) -> bool {
        self.lock().as_ref().is_none_or(|queue| queue.waiters.is_empty())
    }

    /// Wakes the requests that wait for `Stored` below `stored`, or for `Replicated` below
    /// `replicated`.
    pub fn wake_below(&self, stored: Offset, replicated: Offset) {
        let mut queue = self.lock();
        let Some(queue) = &mut *queue else { return };
        for Interested { key, list, .. } in &queue.interested {
            list.add(*key);
        }
        queue.waiters.retain(|waiter| {
            let reached = match waiter.awaited {
                Progress::Stored => stored,
                Progress::Replicated => replicated,
                Progress::Appended | Progress::Removed => return true,
            };
            waiter.stays_below(reached)
        });
    }

    /// Wakes the requests that wait for a record to be appended below this log end.
    pub fn wake_appended(&self, log_end: Offset) {
        let mut queue = self.lock();
        let Some(queue) = &mut *queue else { return };
        queue.wake_interested();
        queue
            .waiters
            .retain(|waiter| waiter.awaited != Progress::Appended || waiter.stays_below(log_end));
    }

    /// Wakes the followers' requests: the log start offset has changed.
    pub fn wake_followers(&self) {
        self.wake_appended(Offset::new(i64::MAX));
    }

    /// Wakes the requests that wait for followers to remove records below this offset.
    pub fn wake_removed(&self, log_start: Offset) {
        let mut queue = self.lock();
        let Some(queue) = &mut *queue else { return };
        queue
            .waiters
            .retain(|waiter| waiter.awaited != Progress::Removed || waiter.stays_below(log_start));
    }

    /// Wakes all requests: the partition has stopped, or its leader epoch has changed.
    pub fn wake_all(&self) {
        let mut queue = self.lock();
        let Some(queue) = &mut *queue else { return };
        queue.wake_interested();
        for waiter in queue.waiters.drain(..) {
            waiter.wake.notify_one();
        }
    }

    /// Wakes all requests once, and leaves them registered.
    pub fn remind_all(&self) {
        for waiter in self.lock().iter().flat_map(|queue| &queue.waiters) {
            waiter.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Queue>>> {
        // The list is valid after any panic: each change is a single call.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadyList {
    /// Adds a partition, which the session's next fetch then looks at.
    pub fn add(&self, partition: PartitionKey) {
        self.lock().insert(partition);
    }

    /// Adds a partition, and wakes the session's fetch that waits.
    fn add_and_wake(&self, partition: PartitionKey) {
        self.add(partition);
        self.woken.notify_one();
    }

    /// Takes all partitions of the list.
    pub fn take(&self) -> BTreeSet<PartitionKey> {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until a partition was added that cannot wait for the next fetch.
    pub async fn woken(&self) {
        self.woken.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<PartitionKey>> {
        // The set is valid after any panic: each change is a single call.
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn ticket(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        ticket
    }

    fn wake_interested(&self) {
        for Interested { key, list, .. } in &self.interested {
            list.add_and_wake(*key);
        }
    }
}

impl Waiter {
    /// Wakes the request if its offset is passed. Returns true if it continues to wait.
    fn stays_below(&self, reached: Offset) -> bool {
        let waits = self.beyond >= reached;
        if !waits {
            self.wake.notify_one();
        }
        waits
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
        waiting.register(Progress::Replicated, Offset::new(4), &near);
        waiting.register(Progress::Replicated, Offset::new(5), &far);
        waiting.wake_below(Offset::new(9), Offset::new(5));
        assert!(woken(&near));
        assert!(!woken(&far));
        waiting.wake_all();
        assert!(woken(&far));
        assert!(waiting.is_empty());
    }

    #[test]
    fn a_stored_record_wakes_only_those_that_wait_for_nothing_more() {
        let waiting = Waiting::default();
        let (stored, replicated) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        waiting.register(Progress::Stored, Offset::new(4), &stored);
        waiting.register(Progress::Replicated, Offset::new(4), &replicated);
        waiting.wake_below(Offset::new(5), Offset::new(4));
        assert!(woken(&stored));
        assert!(!woken(&replicated));
        waiting.wake_below(Offset::new(5), Offset::new(5));
        assert!(woken(&replicated));
    }

    #[test]
    fn an_append_wakes_those_that_wait_for_the_log_end_and_no_others() {
        let waiting = Waiting::default();
        let (appended, stored) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        waiting.register(Progress::Appended, Offset::new(4), &appended);
        waiting.register(Progress::Stored, Offset::new(4), &stored);
        waiting.wake_appended(Offset::new(4));
        waiting.wake_below(Offset::ZERO, Offset::new(5));
        assert!(!woken(&appended));
        waiting.wake_appended(Offset::new(5));
        assert!(woken(&appended));
        assert!(!woken(&stored));
    }

    #[test]
    fn a_cancelled_registration_is_removed() {
        let waiting = Waiting::default();
        let notify = Arc::new(Notify::new());
        let ticket = waiting.register(Progress::Stored, Offset::ZERO, &notify);
        assert!(!waiting.is_empty());
        waiting.cancel(ticket);
        assert!(waiting.is_empty());
    }
}
