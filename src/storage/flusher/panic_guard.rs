//! A guard that reports the panic of a thread, whose work would otherwise stop unnoticed.

use std::thread;

use crate::storage::StorageError;

/// Reports, when its thread unwinds, that the thread has panicked.
pub(in crate::storage) struct PanicGuard<'a> {
    on_fatal: &'a (dyn Fn(&StorageError) + Send + Sync),
}

impl<'a> PanicGuard<'a> {
    pub(in crate::storage) fn new(on_fatal: &'a (dyn Fn(&StorageError) + Send + Sync)) -> Self {
        Self { on_fatal }
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let thread = thread::current().name().unwrap_or_default().to_owned();
            (self.on_fatal)(&StorageError::ThreadPanicked { thread });
        }
    }
}
