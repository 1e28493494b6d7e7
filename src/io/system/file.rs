//! An open file of the kernel's file systems.

use std::fs;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, PosixFadviseAdvice, fallocate, posix_fadvise};
use nix::sys::uio::pwritev;
use nix::unistd::{fdatasync, ftruncate};

use super::medium::Medium;
use crate::io::interruptions::uninterrupted;
use crate::io::socket::send_file;
use crate::io::sys::{cached_pages, is_resident};
use crate::io::{DirectBuffer, File, Inode, failed_sync, read_exact_at};

/// The kernel refuses more buffers than this in one call (`IOV_MAX`).
const BUFFERS_PER_WRITE: usize = 1024;

/// The number of bytes that `read_ahead` requests in one call. The kernel drops the part of a
/// request that exceeds the device's maximum, and few devices have a smaller maximum than this.
const READ_AHEAD_PART: u64 = 512 << 10;

/// Bytes of a page: the smallest size of any supported platform.
const PAGE: u64 = 4096;

/// An open file. It has one descriptor, except while the medium is read.
#[derive(Debug)]
pub(super) struct SystemFile {
    file: fs::File,
}

impl SystemFile {
    pub(super) fn new(file: fs::File) -> Self {
        Self { file }
    }
}

impl File for SystemFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        uninterrupted(|| self.file.read_at(buffer, position))
    }

    fn read_ahead(&self, position: u64, length: u64) {
        let end = position.saturating_add(length);
        let mut position = position;
        while position < end {
            let part = (end - position).min(READ_AHEAD_PART);
            // If its last byte is cached, the whole part was most likely requested before.
            if !self.is_cached(position + part - 1, 1) {
                let (Ok(at), Ok(count)) = (position.try_into(), part.try_into()) else { return };
                let advice = PosixFadviseAdvice::POSIX_FADV_WILLNEED;
                if posix_fadvise(&self.file, at, count, advice).is_err() {
                    return;
                }
            }
            position += part;
        }
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        let end = position.saturating_add(length);
        let first = position / PAGE;
        let pages = end.div_ceil(PAGE).saturating_sub(first);
        if pages == 0 {
            return true;
        }
        match cached_pages(self.file.as_fd(), first * PAGE, pages * PAGE) {
            // Either no page is cached, or `cachestat` cannot see the pages, for instance because
            // this file system stacks on another that owns them.
            Ok(0) | Err(_) => is_resident(self.file.as_fd(), position, length).unwrap_or(false),
            Ok(cached) => cached >= pages,
        }
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        read_exact_at(self, buffer, position)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let medium = Medium::of(&self.file)?;
        uninterrupted(|| medium.read_at(&self.file, buffer, position))
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        Medium::of(&self.file)?.read_direct(buffer, position, length)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        let position = i64::try_from(position).map_err(|_| ErrorKind::FileTooLarge)?;
        let buffers = &buffers[..buffers.len().min(BUFFERS_PER_WRITE)];
        uninterrupted(|| Ok(pwritev(&self.file, buffers, position)?))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        // The standard library's call would repeat EINTR without end.
        let length = i64::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        uninterrupted(|| Ok(ftruncate(&self.file, length)?))
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let length = i64::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        uninterrupted(|| match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => Err(ErrorKind::Unsupported.into()),
            allocated => Ok(allocated?),
        })
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn modified(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    fn inode(&self) -> io::Result<Inode> {
        Ok(inode_of(&self.file.metadata()?))
    }

    fn sync_data(&self) -> io::Result<()> {
        uninterrupted(|| Ok(fdatasync(&self.file)?)).map_err(failed_sync)
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        send_file(socket, self.file.as_fd(), position, length)
    }
}

/// The identity of a file or directory.
pub(super) fn inode_of(metadata: &fs::Metadata) -> Inode {
    Inode { device: metadata.dev(), number: metadata.ino(), born: metadata.created().ok() }
}
