//! The background threads of a data directory.

use std::path::Path;

use crate::io::Worker;
use crate::storage::StorageError;

/// Starts a thread that does `work` for the directory `dir`. Calls `on_fatal` if it panics.
///
/// # Errors
/// If the system cannot start a thread.
pub(in crate::storage) fn start_worker(
    name: &str,
    dir: &Path,
    on_fatal: impl Fn(&StorageError) + Send + 'static,
    work: impl FnOnce() + Send + 'static,
) -> Result<Worker, StorageError> {
    let on_panic = move |thread: &str| {
        on_fatal(&StorageError::ThreadPanicked { thread: thread.to_owned() });
    };
    let started = Worker::start(name, on_panic, work);
    started.map_err(|cause| StorageError::io("start a thread for", dir, cause))
}
