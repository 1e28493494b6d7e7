//! The wakeup of an event loop: the numbers of the futures to poll, and a descriptor.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use crate::client::WakeFd;

/// A wakeup that any thread sends to one event loop.
#[derive(Debug)]
pub(super) struct Wakeup {
    event: WakeFd,
    woken: Mutex<Vec<u64>>,
}

/// The waker of one future.
struct FutureWaker {
    wakeup: Arc<Wakeup>,
    number: u64,
}

impl Wakeup {
    /// A wakeup without woken futures.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { event: WakeFd::new()?, woken: Mutex::default() })
    }

    /// A descriptor that is readable while woken futures wait to be polled.
    pub(super) fn descriptor(&self) -> RawFd {
        self.event.as_fd().as_raw_fd()
    }

    /// Takes the futures woken since the last call.
    pub(super) fn take(&self) -> Vec<u64> {
        // Clear the descriptor before taking the list: a wakeup in between makes it readable again.
        self.event.clear();
        std::mem::take(&mut self.woken())
    }

    /// The waker of the future with this number.
    pub(super) fn waker(self: &Arc<Self>, number: u64) -> Waker {
        Waker::from(Arc::new(FutureWaker { wakeup: Arc::clone(self), number }))
    }

    fn wake(&self, number: u64) {
        let mut woken = self.woken();
        woken.push(number);
        // Only the first woken future wakes the loop: the same `take` also returns futures woken
        // later.
        let is_first = woken.len() == 1;
        drop(woken);
        if is_first {
            self.event.wake();
        }
    }

    fn woken(&self) -> MutexGuard<'_, Vec<u64>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for FutureWaker {
    fn wake(self: Arc<Self>) {
        self.wakeup.wake(self.number);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakeup.wake(self.number);
    }
}
