//! The file of a segment's batches, as everybody in this process reads and writes it.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::io::{File, Inode, is_error_of_file, read_exact_at};
use crate::record::{Batch, BatchSummary, HEADER_SIZE};
use crate::storage::segments::{Segment, Vouched};

/// Bytes of the smallest page.
const PAGE: u64 = 4096;

/// A segment's file with its vouched ranges: what is written through it is vouched for, what a
/// read may bring from the medium is not any more.
#[derive(Debug)]
pub(crate) struct WatchedFile {
    file: Arc<dyn File>,
    vouched: Arc<Vouched>,
}

impl WatchedFile {
    /// The `file` that `vouched` speaks of.
    pub(crate) fn new(file: Arc<dyn File>, vouched: Arc<Vouched>) -> Self {
        Self { file, vouched }
    }
}

impl File for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.vouched.before_read(&*self.file, position, buffer.len() as u64);
        self.file.read_at(buffer, position)
    }

    fn read_ahead(&self, position: u64, length: u64) {
        self.vouched.before_read(&*self.file, position, length);
        self.file.read_ahead(position, length);
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        self.file.is_cached(position, length)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        // Where the medium cannot be read around the page cache, its bytes come into that.
        self.vouched.withdraw(position, buffer.len() as u64);
        self.file.read_medium_at(buffer, position)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        if !position.is_multiple_of(PAGE) {
            // The kernel reads the rest of the page that is written in part.
            self.vouched.before_read(&*self.file, position - 1, 1);
        }
        let count = self.file.write_at(buffers, position)?;
        self.vouched.add(position..position + count as u64);
        Ok(count)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.vouched.cut(length);
        self.file.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn inode(&self) -> io::Result<Inode> {
        self.file.inode()
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.file.send_to(socket, position, length).inspect_err(|error| {
            if is_error_of_file(error) {
                // The next read of these bytes answers with the error, where this send could only
                // close its connection.
                self.vouched.withdraw(position, length as u64);
            }
        })
    }
}

/// A segment's file for those who send it: only vouched bytes count as cached, and all others are
/// checked as they are read.
#[derive(Debug)]
pub(crate) struct SentFile {
    segment: Arc<Segment>,
    file: Arc<dyn File>,
}

impl SentFile {
    /// The `file` of `segment`.
    pub(crate) fn new(segment: Arc<Segment>, file: Arc<dyn File>) -> Self {
        Self { segment, file }
    }

    /// Reads the batch at `position` and checks it.
    fn batch_at(&self, position: u64) -> io::Result<Vec<u8>> {
        let mut header = [0; HEADER_SIZE];
        read_exact_at(&*self.file, &mut header, position)?;
        let invalid = |error| io::Error::new(ErrorKind::InvalidData, error);
        let size = BatchSummary::parse(&header).map_err(invalid)?.size;
        if position + size as u64 > self.file.len()? {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; size];
        read_exact_at(&*self.file, &mut bytes, position)?;
        Batch::parse(&bytes).and_then(|batch| batch.check_checksum()).map_err(invalid)?;
        Ok(bytes)
    }
}

impl File for SentFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.file.read_at(buffer, position)
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        self.segment.vouched().covers(position, length) && self.file.is_cached(position, length)
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        let start = self.segment.batch_before(position).map_err(io::Error::other)?;
        let mut at = start;
        let mut done = 0;
        while done < buffer.len() {
            let bytes = self.batch_at(at)?;
            let end = at + bytes.len() as u64;
            let wanted = position + done as u64;
            if let Ok(skip) = usize::try_from(wanted - at)
                && wanted < end
            {
                let taken = (bytes.len() - skip).min(buffer.len() - done);
                buffer[done..done + taken].copy_from_slice(&bytes[skip..skip + taken]);
                done += taken;
            }
            at = end;
        }
        Ok(())
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.file.read_medium_at(buffer, position)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.file.write_at(buffers, position)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn inode(&self) -> io::Result<Inode> {
        self.file.inode()
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.file.send_to(socket, position, length)
    }
}
