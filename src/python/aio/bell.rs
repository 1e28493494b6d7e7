//! What wakes an event loop: the numbers of the futures to poll, and a descriptor that is readable.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Rung from any thread, heard by one loop.
#[derive(Debug)]
pub(super) struct Bell {
    rung: EventFd,
    woken: Mutex<Vec<u64>>,
}

/// Wakes one future.
struct Ring {
    bell: Arc<Bell>,
    number: u64,
}

impl Bell {
    /// A bell that has not rung.
    pub(super) fn new() -> io::Result<Self> {
        let rung = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { rung, woken: Mutex::default() })
    }

    /// Readable while there is something to take.
    pub(super) fn descriptor(&self) -> RawFd {
        self.rung.as_fd().as_raw_fd()
    }

    /// The futures that were woken since the last time.
    pub(super) fn take(&self) -> Vec<u64> {
        // Before they are taken: who comes in between rings again.
        let _ = self.rung.read();
        std::mem::take(&mut self.woken())
    }

    /// What wakes the future of this number.
    pub(super) fn waker(self: &Arc<Self>, number: u64) -> Waker {
        Waker::from(Arc::new(Ring { bell: Arc::clone(self), number }))
    }

    fn ring(&self, number: u64) {
        let mut woken = self.woken();
        woken.push(number);
        let is_first = woken.len() == 1;
        drop(woken);
        if is_first {
            // Fails only if the counter is full, and then it is readable already.
            let _ = self.rung.write(1);
        }
    }

    fn woken(&self) -> MutexGuard<'_, Vec<u64>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.bell.ring(self.number);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.bell.ring(self.number);
    }
}
