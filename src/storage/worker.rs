//! A background thread of a data directory.
//!
//! Every such thread reports its own panic, because its work would otherwise stop unnoticed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::storage::StorageError;

/// A background thread.
#[derive(Debug, Default)]
pub(in crate::storage) struct Worker {
    /// `None` once it was joined, or if it was never started.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Reports, when its thread unwinds, that the thread has panicked.
struct PanicReport<F: Fn(&StorageError)> {
    on_fatal: F,
}

impl Worker {
    /// Starts a thread that does `work` for the directory `dir`. Calls `on_fatal` if it panics.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(in crate::storage) fn start(
        name: &str,
        dir: &Path,
        on_fatal: impl Fn(&StorageError) + Send + 'static,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StorageError> {
        let run = move || {
            let _report = PanicReport { on_fatal };
            work();
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = started.map_err(|cause| StorageError::io("start a thread for", dir, cause))?;
        Ok(Self { thread: Mutex::new(Some(thread)) })
    }

    /// Waits for the end of the thread.
    pub(in crate::storage) fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has reported it already.
            let _ = thread.join();
        }
    }
}

impl<F: Fn(&StorageError)> Drop for PanicReport<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            let thread = thread::current().name().unwrap_or_default().to_owned();
            (self.on_fatal)(&StorageError::ThreadPanicked { thread });
        }
    }
}
