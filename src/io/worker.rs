//! A thread that reports its own panic.
//!
//! A panic ends only the thread in which it happens; without a report, its work would stop
//! unnoticed.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A thread that reports its own panic. Dropping this does not end the thread.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// `None` once it was joined, or if it was never started.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A guard that calls `on_panic` with the thread's name if it is dropped because the thread panics.
pub(crate) struct PanicReport<F: Fn(&str)> {
    pub(crate) on_panic: F,
}

impl Worker {
    /// Starts a thread that does `work`. If it panics, it calls `on_panic` with its name.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(
        name: &str,
        on_panic: impl Fn(&str) + Send + 'static,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let run = move || {
            let _report = PanicReport { on_panic };
            work();
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { thread: Mutex::new(Some(thread)) })
    }

    /// Waits for the end of the thread.
    pub(crate) fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

impl<F: Fn(&str)> Drop for PanicReport<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.on_panic)(thread::current().name().unwrap_or_default());
        }
    }
}
