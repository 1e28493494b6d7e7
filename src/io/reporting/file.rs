//! An open file of the disk that logs errors.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::error_log::ErrorLog;
use crate::io::{DirectBuffer, File, FileWrapper, Inode, is_error_of_file};

/// A file that logs its errors under the name it was opened with.
pub(super) struct ReportingFile {
    inner: Arc<dyn File>,
    path: PathBuf,
    errors: Arc<ErrorLog>,
}

impl ReportingFile {
    pub(super) fn new(inner: Arc<dyn File>, path: PathBuf, errors: Arc<ErrorLog>) -> Self {
        Self { inner, path, errors }
    }

    fn reported<T>(&self, operation: &str, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.errors.report(operation, &self.path, error))
    }
}

impl fmt::Debug for ReportingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl FileWrapper for ReportingFile {
    fn wrapped(&self) -> &dyn File {
        &*self.inner
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.reported("read", self.inner.read_at(buffer, position))
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.reported("read", self.inner.read_checked(buffer, position))
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.reported("read", self.inner.read_medium_at(buffer, position))
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        match self.inner.read_direct(buffer, position, length) {
            // The caller then reads through the page cache.
            Err(error) if error.kind() == ErrorKind::Unsupported => Err(error),
            read => self.reported("read", read),
        }
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.reported("write", self.inner.write_at(buffers, position))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.reported("set the length of", self.inner.set_len(length))
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.reported("allocate", self.inner.allocate(length))
    }

    fn len(&self) -> io::Result<u64> {
        self.reported("measure", self.inner.len())
    }

    fn modified(&self) -> io::Result<SystemTime> {
        self.reported("measure", self.inner.modified())
    }

    fn inode(&self) -> io::Result<Inode> {
        self.reported("measure", self.inner.inode())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.reported("sync", self.inner.sync_data())
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        let sent = self.inner.send_to(socket, position, length);
        match sent {
            Err(error) if is_error_of_file(&error) => self.reported("send", Err(error)),
            sent => sent,
        }
    }
}
