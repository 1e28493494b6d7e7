//! Signals that arrive while a thread waits, and the host whose handlers they are meant for.
//!
//! An interpreter such as `CPython` records a signal and runs its handler later on its main thread.
//! A signal that arrives just before that thread falls asleep does not interrupt the sleep. During
//! a wait the interpreter therefore also writes each signal to a pipe (a wakeup descriptor) that
//! the sleep polls. Bytes that arrived meanwhile are passed on to the descriptor that was set
//! before.

use std::fmt::Debug;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use crate::io::nonblocking_pipe;

/// The host of waiting threads, such as an interpreter with signal handlers of its own.
pub trait Signals: Send + Sync + Debug {
    /// Starts writing each signal as a byte to `pipe`. Returns the previous descriptor (negative:
    /// none), or `None` when this thread receives no signals.
    fn watch(&self, pipe: RawFd) -> Option<RawFd>;

    /// Reverts `watch`, and writes `missed`, the bytes of the signals that arrived meanwhile, to
    /// `before`.
    fn restore(&self, before: RawFd, missed: &[u8]);

    /// Runs the handlers of pending signals. Returns true if the wait is to be interrupted.
    fn gives_up(&self) -> bool;
}

/// A watch for signals during a single wait; dropping it restores the previous descriptor.
#[derive(Debug)]
pub(super) struct Watch {
    host: &'static dyn Signals,
    before: RawFd,
    pipe: (PipeReader, PipeWriter),
    taken: Vec<u8>,
}

impl Watch {
    /// Starts a watch; `None` when this thread receives no signals.
    pub(super) fn begin(host: &'static dyn Signals) -> io::Result<Option<Self>> {
        let pipe = nonblocking_pipe()?;
        let before = host.watch(pipe.1.as_raw_fd());
        Ok(before.map(|before| Self { host, before, pipe, taken: Vec::new() }))
    }

    /// Readable when a signal has arrived.
    pub(super) fn readable(&self) -> BorrowedFd<'_> {
        self.pipe.0.as_fd()
    }

    /// Drains the pipe and records the signals that arrived.
    pub(super) fn take(&mut self) {
        let mut bytes = [0; 64];
        while let Ok(count @ 1..) = self.pipe.0.read(&mut bytes) {
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
