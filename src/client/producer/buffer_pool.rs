//! The bounded buffer space of a producer (`buffer.memory`), and waiting for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::client::ClientError;
use crate::client::waiting::Waiter;
use crate::client::wakeup::Wakeup;

/// A number of bytes, and the callers that wait for some of them.
#[derive(Debug)]
pub(crate) struct BufferPool {
    limit: usize,
    used: AtomicUsize,
    waiting: AtomicUsize,
    freed: Wakeup,
}

/// A waiting caller, until dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    pool: &'a BufferPool,
}

/// Bytes taken from the buffer, returned when the reservation is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    pool: Arc<BufferPool>,
    bytes: usize,
}

impl BufferPool {
    /// Buffer space of `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            freed: Wakeup::default(),
        })
    }

    /// Takes `bytes` if they are free. A larger request than the whole buffer succeeds while the
    /// buffer is unused.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let fits = |used: usize| {
            let after = used.checked_add(bytes)?;
            (used == 0 || after <= self.limit).then_some(after)
        };
        // Sequentially consistent with `waiting`: if this finds no space, the next `give_back`
        // finds the waiter, so no wakeup is lost.
        self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).is_ok()
    }

    /// Registers a waiting caller. The caller must then wake the sending task, so that it sends
    /// open batches at once instead of letting them linger.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting { pool: self }
    }

    /// Returns bytes to the pool that were taken from it.
    pub(crate) fn give_back(&self, bytes: usize) {
        let used = self.used.fetch_sub(bytes, Ordering::SeqCst);
        assert!(used >= bytes, "{bytes} bytes given back of {used}");
        if self.is_wanted() {
            self.wake_all();
        }
    }

    /// Returns true if a caller waits, so that batches should be sent without lingering.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Wakes waiting callers, which then check whether the producer was closed.
    pub(crate) fn wake_all(&self) {
        self.freed.wake_all();
    }
}

impl Waiting<'_> {
    /// Takes `bytes`, waiting up to `timeout`; false after the timeout, or if `is_closed`.
    pub(crate) fn take(
        self,
        bytes: usize,
        waiter: &Waiter,
        timeout: Duration,
        is_closed: impl Fn() -> bool,
    ) -> Result<bool, ClientError> {
        let attempt = || self.attempt(bytes, &is_closed);
        let taken = waiter.wait(self.pool.freed.gate(), Some(timeout), attempt)?;
        Ok(taken.unwrap_or(false))
    }

    /// [`take`](Self::take) as a future without a timeout.
    pub(crate) async fn taking(self, bytes: usize, is_closed: impl Fn() -> bool) -> bool {
        self.pool.freed.until(|| self.attempt(bytes, &is_closed)).await
    }

    fn attempt(&self, bytes: usize, is_closed: impl Fn() -> bool) -> Option<bool> {
        let taken = self.pool.try_take(bytes);
        (taken || is_closed()).then_some(taken)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Reservation {
    /// A reservation of no bytes.
    pub(crate) fn new(pool: Arc<BufferPool>) -> Self {
        Self { pool, bytes: 0 }
    }

    /// Adds `bytes` that were taken from the buffer.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Splits off up to `bytes` of its bytes.
    pub(crate) fn split_off(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { pool: Arc::clone(&self.pool), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.pool.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    #[test]
    fn a_waiting_caller_is_counted_until_its_wait_is_over() {
        let pool = BufferPool::new(10);
        assert!(pool.try_take(10));
        let waiter = Waiter::new(Arc::new(ManualClock::default()), None);
        let waiting = pool.waiting();
        assert!(pool.is_wanted());
        assert!(!waiting.take(1, &waiter, Duration::ZERO, || false).unwrap());
        assert!(!pool.is_wanted());
    }

    #[test]
    fn bytes_are_returned_and_an_oversized_record_is_accepted_alone() {
        let pool = BufferPool::new(10);
        let mut reserved = Reservation::new(Arc::clone(&pool));
        assert!(pool.try_take(6));
        reserved.add(6);
        assert!(!pool.try_take(5));
        assert!(pool.try_take(4));
        reserved.add(4);
        assert!(!pool.try_take(1));
        drop(reserved);
        assert!(pool.try_take(100));
        assert!(!pool.try_take(1));
        pool.give_back(100);
        assert!(pool.try_take(10));
    }
}
