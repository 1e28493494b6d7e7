//! Signals that come while a thread waits, and the host whose handlers they are for.
//!
//! An interpreter notes a signal and runs its handler later, on its own thread. Just before that
//! thread falls asleep a signal interrupts nothing, so during a wait the interpreter also writes
//! each signal to a pipe of ours, and the sleep ends by that. Whoever had signals written somewhere
//! before gets what came meanwhile.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read};

/// The host of waiting threads, which may be an interpreter with handlers of its own.
pub trait Signals: Send + Sync + Debug {
    /// From now on each signal is also written to the pipe, a byte each. Returns where they were
    /// written before (negative: nowhere), or `None` when this thread is told of no signals.
    fn watch(&self, pipe: RawFd) -> Option<RawFd>;

    /// Undoes `watch`. `missed` are the bytes that `before` did not get.
    fn restore(&self, before: RawFd, missed: &[u8]);

    /// Handles the signals that came. `true` gives up the wait.
    fn gives_up(&self) -> bool;
}

/// The watch of one wait; what was before comes back with its end.
#[derive(Debug)]
pub(super) struct Watch {
    host: &'static dyn Signals,
    before: RawFd,
    pipe: (OwnedFd, OwnedFd),
    taken: Vec<u8>,
}

impl Watch {
    /// Begins; `None` where signals are no business of this thread.
    pub(super) fn begin(host: &'static dyn Signals) -> io::Result<Option<Self>> {
        let pipe = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let before = host.watch(pipe.1.as_raw_fd());
        Ok(before.map(|before| Self { host, before, pipe, taken: Vec::new() }))
    }

    /// Readable when a signal has come.
    pub(super) fn readable(&self) -> BorrowedFd<'_> {
        self.pipe.0.as_fd()
    }

    /// Takes note of the signals that came.
    pub(super) fn take(&mut self) {
        let mut bytes = [0; 64];
        while let Ok(count @ 1..) = read(&self.pipe.0, &mut bytes) {
            self.taken.extend_from_slice(&bytes[..count]);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.take();
        self.host.restore(self.before, &self.taken);
    }
}
