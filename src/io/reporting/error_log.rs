//! Rate-limited log lines about errors of a disk.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;

use crate::io::{Clock, is_displaced, is_failed_sync, is_out_of_space};

/// The shortest time between two lines about the same file.
pub(super) const INTERVAL: Duration = Duration::from_mins(1);

/// The most files named within one interval, which bounds the log if a whole disk fails.
pub(super) const FILES_MAX: usize = 256;

/// The log of a disk's errors, and the files named in it recently.
pub(super) struct ErrorLog {
    clock: Arc<dyn Clock>,
    /// The time of the last line about each file.
    logged: Mutex<BTreeMap<PathBuf, Duration>>,
    listener: ErrorListener,
}

/// The receiver of a disk's reports: lines for the log, and failed syncs.
pub(super) struct ErrorListener {
    /// Writes a line of the log.
    pub(super) write_line: Box<dyn Fn(&str) + Send + Sync>,
    /// Called at each failed sync, before its caller gets the error.
    pub(super) on_failed_sync: Box<dyn Fn() + Send + Sync>,
}

impl ErrorLog {
    /// An empty log that passes its lines to `listener`.
    pub(super) fn new(clock: Arc<dyn Clock>, listener: ErrorListener) -> Self {
        Self { clock, logged: Mutex::default(), listener }
    }

    /// Logs the failure of an operation on a file, unless the file was logged within the interval.
    pub(super) fn report(&self, operation: &str, path: &Path, error: &io::Error) {
        if is_failed_sync(error) {
            (self.listener.on_failed_sync)();
        }
        if is_reported(error) && self.is_due(path) {
            let (path, remedy) = (path.display(), remedy(error));
            (self.listener.write_line)(&format!("cannot {operation} '{path}': {error}; {remedy}"));
        }
    }

    fn is_due(&self, path: &Path) -> bool {
        let now = self.clock.monotonic();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        logged.retain(|_, at| now.saturating_sub(*at) < INTERVAL);
        if logged.len() >= FILES_MAX || logged.contains_key(path) {
            return false;
        }
        logged.insert(path.to_owned(), now);
        true
    }
}

/// Returns true if a [`ReportingDisk`](super::ReportingDisk) logs this error. Errors that callers
/// expect, such as an absent name, are skipped, and so are a full disk and a file that was removed
/// or replaced while in use, which other code reports.
pub(crate) fn is_reported(error: &io::Error) -> bool {
    let is_expected = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::DirectoryNotEmpty
            | ErrorKind::WouldBlock
            | ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::UnexpectedEof
            | ErrorKind::WriteZero
            | ErrorKind::Unsupported
    );
    !(is_expected || is_out_of_space(error) || is_displaced(error))
}

/// The remedy shown with an error.
fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE | Errno::ENFILE) => "raise the limit of open files",
        Some(Errno::EACCES | Errno::EPERM) => {
            "give the user that runs the broker the right to read and write it"
        }
        Some(Errno::EROFS) => "check the disk, then mount its file system for writing again",
        Some(Errno::EINTR) => "check the file system, which interrupts every call",
        _ => "check the disk, and copy the data directory while it can be read",
    }
}
