//! A file's bytes in memory.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;

use crate::io::{DirectBuffer, File, Inode, extend_to, read_exact_at, send_copied};

/// An open file; all handles on the same file share its bytes.
#[derive(Clone, Debug)]
pub(super) struct MemoryFile {
    bytes: Arc<RwLock<Vec<u8>>>,
    /// The number of changes, which stands for the time of the last one.
    changes: Arc<AtomicU64>,
    inode: Inode,
    writable: bool,
}

impl MemoryFile {
    /// A new file without a name.
    pub(super) fn empty(inode: Inode) -> Self {
        Self { bytes: Arc::default(), changes: Arc::default(), inode, writable: true }
    }

    /// Another handle on the same file.
    pub(super) fn reopen(&self, writable: bool) -> Self {
        let (bytes, changes) = (Arc::clone(&self.bytes), Arc::clone(&self.changes));
        Self { bytes, changes, inode: self.inode, writable }
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> io::Result<RwLockWriteGuard<'_, Vec<u8>>> {
        if !self.writable {
            return Err(Errno::EBADF.into());
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(self.bytes.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl File for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let bytes = self.read();
        let start = usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn read_ahead(&self, _position: u64, _length: u64) {}

    fn is_cached(&self, _position: u64, _length: u64) -> bool {
        true
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        read_exact_at(self, buffer, position)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.read_at(buffer, position)
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        let read = |part: &mut [u8], before| self.read_at(part, position + before as u64);
        buffer.fill(length, read)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        let mut bytes = self.write()?;
        let total = buffers.iter().map(|buffer| buffer.len()).sum();
        if total == 0 {
            return Ok(0);
        }
        let mut end = usize::try_from(position).map_err(|_| ErrorKind::FileTooLarge)?;
        let needed = end.checked_add(total).ok_or(ErrorKind::FileTooLarge)?;
        if bytes.len() < needed {
            bytes.resize(needed, 0);
        }
        for buffer in buffers {
            bytes[end..end + buffer.len()].copy_from_slice(buffer);
            end += buffer.len();
        }
        Ok(total)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        self.write()?.resize(length, 0);
        Ok(())
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        extend_to(self, length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.read().len() as u64)
    }

    fn modified(&self) -> io::Result<SystemTime> {
        Ok(SystemTime::UNIX_EPOCH + Duration::from_nanos(self.changes.load(Ordering::Relaxed)))
    }

    fn inode(&self) -> io::Result<Inode> {
        Ok(self.inode)
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        send_copied(self, socket, position, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}
