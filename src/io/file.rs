//! An open file, read and written at positions; there is no cursor to share.

use std::fmt::Debug;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::SystemTime;

use crate::io::{DirectBuffer, Inode, send_buffers};

/// Bytes copied at a time if the kernel cannot send the file itself.
#[cfg(any(test, feature = "broker", feature = "internals"))]
const COPY_CHUNK: usize = 64 * 1024;

/// An open file. Cheap to share; all calls may come from several threads at once. Implementations
/// repeat an interrupted system call (EINTR) a bounded number of times, so callers treat
/// `Interrupted` as any other error.
///
/// A method that a wrapper may have to forward has no default: a wrapper that forgot it would
/// silently use the default instead of the wrapped file's method. A [`FileWrapper`] forwards every
/// call that it does not change.
pub trait File: Send + Sync + Debug {
    /// Reads up to `buffer.len()` bytes at `position`; returns 0 at the end.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Begins to read these bytes into the page cache without waiting. The kernel may read fewer.
    fn read_ahead(&self, position: u64, length: u64);

    /// Returns true if all of these bytes are in memory, or being read by a request that has begun,
    /// so that reading them starts no access to the medium. The answer may be out of date at once.
    fn is_cached(&self, position: u64, length: u64) -> bool;

    /// Fills `buffer` from `position`. If the implementation knows the checksum of these bytes, it
    /// checks at least those that may have just come from the medium.
    ///
    /// # Errors
    /// `InvalidData` if they differ from the bytes written; otherwise as `read_at`.
    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()>;

    /// As `read_at`, but reads the medium, not the page cache. Used by recovery, because a page of
    /// the cache may hold bytes whose write to the disk has failed.
    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Reads from the medium the blocks that hold the `length` bytes from `position` on, as far as
    /// they fit into `buffer` and the file reaches. It neither uses nor fills the page cache,
    /// except that the kernel first writes the range's dirty pages.
    ///
    /// # Errors
    /// `Unsupported` if the file system cannot do this; `InvalidInput` if `position` is not a
    /// multiple of [`DirectBuffer::ALIGNMENT`].
    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()>;

    /// Writes the buffers one after another at `position` and returns the number of bytes written,
    /// which may be fewer than offered. Writing past the end extends the file.
    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize>;

    /// Truncates, or extends with zeros, to `length` bytes.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Makes the file at least `length` bytes long and reserves space for all of them on the
    /// medium, so that writing them cannot fail with a full disk. Bytes not written yet read as
    /// zeros.
    ///
    /// # Errors
    /// Those of the disk; `Unsupported` if the file system cannot reserve space.
    fn allocate(&self, length: u64) -> io::Result<()>;

    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// The time of the last change of bytes or length, by whomever. Two changes shortly one after
    /// the other may have the same time.
    fn modified(&self) -> io::Result<SystemTime>;

    /// The identity of the file, whatever its name.
    fn inode(&self) -> io::Result<Inode>;

    /// Returns true if it has no bytes.
    #[cfg(any(test, feature = "internals"))]
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Makes bytes and length durable (`fdatasync`).
    ///
    /// # Errors
    /// An error for which [`is_failed_sync`](crate::io::is_failed_sync) is true, if the sync was
    /// tried: the state of every byte written since the last success is then unknown, and a second
    /// call proves nothing. Another error if the file had to be opened first and could not be.
    fn sync_data(&self) -> io::Result<()>;

    /// Sends up to `length` bytes from `position` to a non-blocking socket and returns the number
    /// sent; 0 means that the file ends at `position`.
    ///
    /// # Errors
    /// `WouldBlock` if the socket is full; otherwise those of the socket and of the file.
    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize>;
}

/// A file that changes some calls of the file it wraps. It overrides the methods of these calls;
/// the default methods forward to the wrapped file. Callers use it as a [`File`].
pub(crate) trait FileWrapper: Send + Sync + Debug {
    /// The wrapped file.
    fn wrapped(&self) -> &dyn File;

    /// As [`File::read_at`].
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.wrapped().read_at(buffer, position)
    }

    /// As [`File::read_ahead`].
    fn read_ahead(&self, position: u64, length: u64) {
        self.wrapped().read_ahead(position, length);
    }

    /// As [`File::is_cached`].
    fn is_cached(&self, position: u64, length: u64) -> bool {
        self.wrapped().is_cached(position, length)
    }

    /// As [`File::read_checked`].
    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.wrapped().read_checked(buffer, position)
    }

    /// As [`File::read_medium_at`].
    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.wrapped().read_medium_at(buffer, position)
    }

    /// As [`File::read_direct`].
    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        self.wrapped().read_direct(buffer, position, length)
    }

    /// As [`File::write_at`].
    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        self.wrapped().write_at(buffers, position)
    }

    /// As [`File::set_len`].
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.wrapped().set_len(length)
    }

    /// As [`File::allocate`].
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.wrapped().allocate(length)
    }

    /// As [`File::len`].
    fn len(&self) -> io::Result<u64> {
        self.wrapped().len()
    }

    /// As [`File::modified`].
    fn modified(&self) -> io::Result<SystemTime> {
        self.wrapped().modified()
    }

    /// As [`File::inode`].
    fn inode(&self) -> io::Result<Inode> {
        self.wrapped().inode()
    }

    /// As [`File::sync_data`].
    fn sync_data(&self) -> io::Result<()> {
        self.wrapped().sync_data()
    }

    /// As [`File::send_to`].
    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        self.wrapped().send_to(socket, position, length)
    }
}

impl<W: FileWrapper> File for W {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        FileWrapper::read_at(self, buffer, position)
    }

    fn read_ahead(&self, position: u64, length: u64) {
        FileWrapper::read_ahead(self, position, length);
    }

    fn is_cached(&self, position: u64, length: u64) -> bool {
        FileWrapper::is_cached(self, position, length)
    }

    fn read_checked(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        FileWrapper::read_checked(self, buffer, position)
    }

    fn read_medium_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        FileWrapper::read_medium_at(self, buffer, position)
    }

    fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        FileWrapper::read_direct(self, buffer, position, length)
    }

    fn write_at(&self, buffers: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        FileWrapper::write_at(self, buffers, position)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        FileWrapper::set_len(self, length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        FileWrapper::allocate(self, length)
    }

    fn len(&self) -> io::Result<u64> {
        FileWrapper::len(self)
    }

    fn modified(&self) -> io::Result<SystemTime> {
        FileWrapper::modified(self)
    }

    fn inode(&self) -> io::Result<Inode> {
        FileWrapper::inode(self)
    }

    fn sync_data(&self) -> io::Result<()> {
        FileWrapper::sync_data(self)
    }

    fn send_to(&self, socket: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<usize> {
        FileWrapper::send_to(self, socket, position, length)
    }
}

/// A range of an open file.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The file; it may be one that opens itself when it is read.
    pub file: Arc<dyn File>,
    /// The position of its first byte.
    pub position: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// Fills `buffer` from `position`.
///
/// # Errors
/// `UnexpectedEof` if the file ends first; otherwise those of the file's `read_at`.
pub fn read_exact_at(file: &dyn File, buffer: &mut [u8], position: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], position + done as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Extends a file to at least `length` bytes, for disks that cannot reserve space.
///
/// # Errors
/// As [`File::set_len`].
#[cfg(any(test, feature = "broker", feature = "internals"))]
pub fn extend_to(file: &dyn File, length: u64) -> io::Result<()> {
    if file.len()? < length { file.set_len(length) } else { Ok(()) }
}

/// Implements [`File::send_to`] by a copy in memory, for files that the kernel cannot send.
///
/// # Errors
/// As [`File::send_to`].
#[cfg(any(test, feature = "broker", feature = "internals"))]
pub fn send_copied(
    file: &dyn File,
    socket: BorrowedFd<'_>,
    position: u64,
    length: usize,
) -> io::Result<usize> {
    let mut chunk = vec![0; length.min(COPY_CHUNK)];
    let count = file.read_at(&mut chunk, position)?;
    if count == 0 {
        return Ok(0);
    }
    send_buffers(socket, &[IoSlice::new(&chunk[..count])], count < length)
}

/// Writes all buffers one after another at `position`, and continues after short writes.
///
/// # Errors
/// As the file's `write_at`; any prefix of the bytes may then have been written.
pub fn write_all_at(
    file: &dyn File,
    mut buffers: &mut [IoSlice<'_>],
    position: u64,
) -> io::Result<()> {
    let mut position = position;
    IoSlice::advance_slices(&mut buffers, 0);
    while !buffers.is_empty() {
        match file.write_at(buffers, position) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                position += count as u64;
                IoSlice::advance_slices(&mut buffers, count);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
