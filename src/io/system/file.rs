//! An open file of the kernel's.

use std::fs;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::uio::pwritev;

use super::medium::Medium;
use crate::io::sys::{cached_pages, is_byte_cached};
use crate::io::{File, Inode, failed_sync};

/// The kernel refuses more buffers than this in one call (`IOV_MAX`).
const BUFFERS_PER_WRITE: usize = 1024;

/// Bytes of a page, as small as they are anywhere.
const PAGE: u64 = 4096;

/// A file and, once recovery asks for it, a second descriptor that goes around the page cache.
#[derive(Debug)]
pub(super) struct SystemFile {
    file: fs::File,
    medium: OnceLock<Medium>,
}

impl SystemFile {
    pub(super) fn new(file: fs::File) -> Self {
        Self { file, medium: OnceLock::new() }
    }

    fn medium(&self) -> io::Result<&Medium> {
        if let Some(medium) = self.medium.get() {
            return Ok(medium);
        }
        let opened = Medium::of(&self.file)?;
        Ok(self.medium.get_or_init(|| opened))
    }
}

impl File for SystemFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.file.read_at(buffer, position)
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        let end = position.saturating_add(length);
        let first = position / PAGE;
        let pages = end.div_ceil(PAGE).saturating_sub(first);
        if pages == 0 {
            return true;
        }
        match cached_pages(self.file.as_fd(), first * PAGE, pages * PAGE) {
            Ok(0) | Err(_) => {
                // No page, or a file system over another one, whose pages are the other's.
                let mut pages = (first..first + pages).map(|page| page * PAGE);
                pages.all(|page| is_byte_cached(self.file.as_fd(), page.max(position)))
            }
            Ok(cached) => cached >= pages,
        }
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.medium()?.read_at(&self.file, buffer, position)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        let position = i64::try_from(position).map_err(|_| ErrorKind::FileTooLarge)?;
        let buffers = &buffers[..buffers.len().min(BUFFERS_PER_WRITE)];
        Ok(pwritev(&self.file, buffers, position)?)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let length = i64::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => Err(ErrorKind::Unsupported.into()),
            allocated => Ok(allocated?),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn inode(&self) -> io::Result<Inode> {
        Ok(inode_of(&self.file.metadata()?))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data().map_err(failed_sync)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

/// What the system calls a file or directory.
pub(super) fn inode_of(metadata: &fs::Metadata) -> Inode {
    Inode { device: metadata.dev(), number: metadata.ino() }
}
