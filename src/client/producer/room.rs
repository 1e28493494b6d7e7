//! The bytes of records that a producer may hold: who wants more waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::client::ClientError;
use crate::client::bell::Bell;
use crate::client::waiting::Waiter;

/// A number of bytes, and those who wait for some of them.
#[derive(Debug)]
pub(crate) struct Room {
    limit: usize,
    used: AtomicUsize,
    waiting: AtomicUsize,
    freed: Bell,
}

/// One of those who wait, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    room: &'a Room,
}

/// Bytes that were taken, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    /// Room for `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            freed: Bell::default(),
        })
    }

    /// Takes `bytes` if there is room now. Something larger than all the room gets in alone.
    pub(crate) fn try_take(&self, bytes: usize) -> bool {
        let fits = |used: usize| {
            let after = used.checked_add(bytes)?;
            (used == 0 || after <= self.limit).then_some(after)
        };
        // Ordered with `waiting`: a taker that saw no room is seen by whoever makes some.
        self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits).is_ok()
    }

    /// Somebody waits for room from now on, and others see it. Whoever sends is to be woken after
    /// this, so that nothing lingers.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting { room: self }
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, bytes: usize) {
        let used = self.used.fetch_sub(bytes, Ordering::SeqCst);
        assert!(used >= bytes, "{bytes} bytes given back of {used}");
        if self.is_wanted() {
            self.wake_all();
        }
    }

    /// Whether somebody waits: what is held should be sent without delay.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Lets those who wait look whether the producer was closed.
    pub(crate) fn wake_all(&self) {
        self.freed.wake_all();
    }
}

impl Waiting<'_> {
    /// Takes `bytes`, waiting for room up to `timeout`; false is a timeout, or `is_closed`.
    pub(crate) fn take(
        self,
        bytes: usize,
        waiter: &Waiter,
        timeout: Duration,
        is_closed: impl Fn() -> bool,
    ) -> Result<bool, ClientError> {
        let attempt = || self.attempt(bytes, &is_closed);
        let taken = waiter.wait(self.room.freed.gate(), Some(timeout), attempt)?;
        Ok(taken.unwrap_or(false))
    }

    /// [`take`](Self::take) as a future, which has no end in time.
    pub(crate) async fn taking(self, bytes: usize, is_closed: impl Fn() -> bool) -> bool {
        self.room.freed.until(|| self.attempt(bytes, &is_closed)).await
    }

    fn attempt(&self, bytes: usize, is_closed: impl Fn() -> bool) -> Option<bool> {
        let taken = self.room.try_take(bytes);
        (taken || is_closed()).then_some(taken)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.room.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Held {
    /// Nothing yet.
    pub(crate) fn new(room: Arc<Room>) -> Self {
        Self { room, bytes: 0 }
    }

    /// Answers for `bytes` more, which were taken from the room.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Hands over up to so many of its bytes.
    pub(crate) fn split_off(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { room: Arc::clone(&self.room), bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::ManualClock;

    #[test]
    fn who_waits_is_seen_before_the_wait_and_not_after_it() {
        let room = Room::new(10);
        assert!(room.try_take(10));
        let waiter = Waiter::new(Arc::new(ManualClock::default()), None);
        let waiting = room.waiting();
        assert!(room.is_wanted());
        assert!(!waiting.take(1, &waiter, Duration::ZERO, || false).unwrap());
        assert!(!room.is_wanted());
    }

    #[test]
    fn room_is_given_back_and_a_giant_gets_in_alone() {
        let room = Room::new(10);
        let mut held = Held::new(Arc::clone(&room));
        assert!(room.try_take(6));
        held.add(6);
        assert!(!room.try_take(5));
        assert!(room.try_take(4));
        held.add(4);
        assert!(!room.try_take(1));
        drop(held);
        assert!(room.try_take(100));
        assert!(!room.try_take(1));
        room.give_back(100);
        assert!(room.try_take(10));
    }
}
