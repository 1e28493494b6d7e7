//! The disk that logs errors.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::error_log::{ErrorListener, ErrorLog};
use super::file::ReportingFile;
use crate::io::{Clock, DirLock, Disk, Entry, File, Inode, OpenMode};

/// A disk that logs the errors of the disk below it.
pub(crate) struct ReportingDisk {
    inner: Arc<dyn Disk>,
    errors: Arc<ErrorLog>,
}

impl ReportingDisk {
    /// A disk that logs the errors of `inner` through `tracing`, and calls `on_failed_sync` at each
    /// sync that was tried and failed, before its caller gets the error.
    pub(crate) fn new(
        inner: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        on_failed_sync: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let write_line = Box::new(|line: &str| tracing::error!("{line}"));
        Self::telling(inner, clock, ErrorListener { write_line, on_failed_sync })
    }

    /// A disk that reports the errors of `inner` to `listener`.
    pub(super) fn telling(
        inner: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        listener: ErrorListener,
    ) -> Self {
        Self { inner, errors: Arc::new(ErrorLog::new(clock, listener)) }
    }

    fn reported<T>(&self, operation: &str, path: &Path, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.errors.report(operation, path, error))
    }
}

impl fmt::Debug for ReportingDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Disk for ReportingDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let inner = self.reported("open", path, self.inner.open(path, mode))?;
        Ok(Arc::new(ReportingFile::new(inner, path.to_owned(), Arc::clone(&self.errors))))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.reported("rename", from, self.inner.rename(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.reported("remove", path, self.inner.remove_file(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.reported("create", path, self.inner.create_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.reported("remove", path, self.inner.remove_dir(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        self.reported("list", dir, self.inner.list(dir))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.reported("look for", path, self.inner.exists(path))
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.reported("look for", path, self.inner.inode(path))
    }

    fn has_mounts(&self, path: &Path) -> io::Result<bool> {
        self.reported("look for mounts in", path, self.inner.has_mounts(path))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.reported("sync", dir, self.inner.sync_dir(dir))
    }

    fn sync_filesystem(&self, path: &Path) -> io::Result<()> {
        self.reported("sync the file system of", path, self.inner.sync_filesystem(path))
    }

    fn boot_id(&self) -> io::Result<String> {
        self.inner.boot_id()
    }

    fn total_bytes(&self, path: &Path) -> io::Result<u64> {
        self.reported("measure the file system of", path, self.inner.total_bytes(path))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.reported("measure the file system of", path, self.inner.free_bytes(path))
    }

    fn lock(&self, dir: &Path, note: &Path, owner: &str) -> io::Result<DirLock> {
        self.reported("lock", dir, self.inner.lock(dir, note, owner))
    }
}
