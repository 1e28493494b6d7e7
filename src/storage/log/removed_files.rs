//! The files of removed segments, until they are deleted.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::storage::StorageError;
use crate::storage::segments::{LogContext, Segment};

/// The files of removed segments.
#[derive(Debug, Default)]
pub(super) struct RemovedFiles {
    files: Mutex<Vec<RemovedFile>>,
}

/// Prevents other threads from removing or truncating segments while it lives.
#[derive(Debug)]
pub(super) struct SegmentsHold<'log> {
    files: MutexGuard<'log, Vec<RemovedFile>>,
}

/// A file of a removed segment: it was renamed when the segment was removed, and is deleted later.
#[derive(Debug)]
struct RemovedFile {
    path: PathBuf,
    /// The time of its deletion, by the monotonic clock.
    due: Duration,
    /// The segment, if readers still use it.
    segment: Weak<Segment>,
}

/// The pause before another attempt at a failed deletion.
const REMOVAL_PAUSE: Duration = Duration::from_mins(1);

impl RemovedFiles {
    /// Prevents other threads from removing or truncating segments while the hold lives.
    pub(super) fn hold(&self) -> SegmentsHold<'_> {
        SegmentsHold { files: self.lock() }
    }

    /// Deletes the files that are due at `now`. They are closed even if readers still use them,
    /// because an open file would keep its space. A failed deletion is tried again later.
    pub(super) fn delete_due(
        &self,
        context: &LogContext,
        now: Duration,
    ) -> Result<(), StorageError> {
        let due: Vec<_> = self.lock().extract_if(.., |file| file.due <= now).collect();
        let mut refused = Ok(());
        for file in due {
            file.close();
            match context.disk.remove_file(&file.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    refused = Err(StorageError::io("remove", &file.path, error));
                    let due = context.clock.monotonic().saturating_add(REMOVAL_PAUSE);
                    self.lock().push(RemovedFile { due, ..file });
                }
                _ => {}
            }
        }
        refused
    }

    /// The time at which the next file is due, by the monotonic clock; `None` if there is none.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.lock().iter().map(|file| file.due).min()
    }

    /// Closes all of these files, even if readers still use them.
    pub(super) fn close(&self) {
        self.lock().iter().for_each(RemovedFile::close);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RemovedFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SegmentsHold<'_> {
    /// Adds the files of a segment that was just removed, under their new names.
    pub(super) fn add(&mut self, segment: &Arc<Segment>, names: Vec<PathBuf>, due: Duration) {
        let file = |path| RemovedFile { path, due, segment: Arc::downgrade(segment) };
        self.files.extend(names.into_iter().map(file));
    }
}

impl RemovedFile {
    /// Closes the files of its segment.
    fn close(&self) {
        if let Some(segment) = self.segment.upgrade() {
            segment.retire();
        }
    }
}
