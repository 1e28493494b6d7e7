//! A segment's log file, wrapped to keep its verified ranges up to date.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::io::{File, FileWrapper, is_error_of_file};
use crate::storage::segments::VerifiedRanges;

/// The size of the smallest page.
const PAGE: u64 = 4096;

/// A segment's file with its verified ranges: bytes written through it count as verified, and a
/// range that a read may bring from the medium no longer counts.
#[derive(Debug)]
pub(crate) struct TrackedFile {
    file: Arc<dyn File>,
    verified: Arc<VerifiedRanges>,
}

impl TrackedFile {
    /// The `file` whose verified ranges are in `verified`.
    pub(crate) fn new(file: Arc<dyn File>, verified: Arc<VerifiedRanges>) -> Self {
        Self { file, verified }
    }
}

impl FileWrapper for TrackedFile {
    fn wrapped(&self) -> &dyn File {
        &*self.file
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.verified.before_read(&*self.file, position, buffer.len() as u64);
        self.file.read_at(buffer, position)
    }

    fn read_ahead(&self, position: u64, length: u64) {
        self.verified.before_read(&*self.file, position, length);
        self.file.read_ahead(position, length);
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.verified.before_read(&*self.file, position, buffer.len() as u64);
        self.file.read_checked(buffer, position)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        // If the medium cannot be read directly, its bytes pass through the page cache.
        self.verified.withdraw(position, buffer.len() as u64);
        self.file.read_medium_at(buffer, position)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        if !position.is_multiple_of(PAGE) {
            // The kernel reads the rest of a page that is written only in part.
            self.verified.before_read(&*self.file, position - 1, 1);
        }
        let _change = self.verified.begin_change();
        let count = self.file.write_at(buffers, position)?;
        self.verified.add(position..position + count as u64);
        Ok(count)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let _change = self.verified.begin_change();
        self.verified.truncate(length);
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let _change = self.verified.begin_change();
        self.file.allocate(length)
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.file.send_to(socket, position, length).inspect_err(|error| {
            if is_error_of_file(error) {
                // The next fetch checks these bytes and gets an error code; this send can only
                // close the connection.
                self.verified.withdraw(position, length as u64);
            }
        })
    }
}
