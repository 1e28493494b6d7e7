//! The wakeup of an event loop: the numbers of the futures to poll, and an eventfd.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// A wakeup that any thread sends to one event loop.
#[derive(Debug)]
pub(super) struct Wakeup {
    event: EventFd,
    woken: Mutex<Vec<u64>>,
}

/// The waker of one future.
struct FutureWaker {
    wakeup: Arc<Wakeup>,
    number: u64,
}

impl Wakeup {
    /// A wakeup without pending futures.
    pub(super) fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { event, woken: Mutex::default() })
    }

    /// A descriptor that is readable while futures are pending.
    pub(super) fn descriptor(&self) -> RawFd {
        self.event.as_fd().as_raw_fd()
    }

    /// Takes the futures woken since the last call.
    pub(super) fn take(&self) -> Vec<u64> {
        // Reset the eventfd before taking the list: a wakeup in between makes it readable again.
        let _ = self.event.read();
        std::mem::take(&mut self.woken())
    }

    /// The waker of the future with this number.
    pub(super) fn waker(self: &Arc<Self>, number: u64) -> Waker {
        Waker::from(Arc::new(FutureWaker { wakeup: Arc::clone(self), number }))
    }

    fn wake(&self, number: u64) {
        let mut woken = self.woken();
        woken.push(number);
        // Only the first pending future writes to the eventfd: later ones are found by the same
        // `take`.
        let is_first = woken.len() == 1;
        drop(woken);
        if is_first {
            // Fails only if the counter is full, in which case the descriptor is readable already.
            let _ = self.event.write(1);
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
