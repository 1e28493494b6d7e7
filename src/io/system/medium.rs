//! Reads of the medium that bypass the page cache.
//!
//! The file is opened a second time with `O_DIRECT`, through `/proc/self/fd`, so that it is the
//! same file even if it was renamed since. The kernel first writes dirty pages of the range, then
//! reads the medium. If `O_DIRECT` is refused (by some file systems, or without `/proc`), clean
//! pages of the range are dropped before an ordinary read. A page that another process has mapped
//! survives this.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use nix::errno::Errno;
use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::unistd::fdatasync;

use crate::io::DirectBuffer;
use crate::io::interruptions::uninterrupted;

const ALIGNMENT: usize = DirectBuffer::ALIGNMENT;
const ALIGNMENT_U64: u64 = 4096;
const ALIGNMENT_I64: i64 = 4096;

/// The maximum number of bytes of one direct read, which bounds the aligned buffer allocated for
/// it.
const READ_LIMIT: usize = 1 << 20;

/// The method by which a file's medium is read.
#[derive(Debug)]
pub(super) enum Medium {
    /// Through a descriptor opened with `O_DIRECT`.
    Direct(fs::File),
    /// By dropping cached pages first.
    DropPages,
}

impl Medium {
    /// Chooses the method for the medium under `file`.
    ///
    /// # Errors
    /// Those of opening a file, such as a lack of descriptors; a refused `O_DIRECT` is no error.
    pub(super) fn of(file: &fs::File) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = OFlag::O_DIRECT.bits();
        #[expect(clippy::disallowed_methods, reason = "this is the disk it is reached through")]
        let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
        match opened {
            Ok(direct) => Ok(Self::Direct(direct)),
            Err(error) if error.kind() == ErrorKind::NotFound || is_refused(&error) => {
                Ok(Self::DropPages)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads from the medium of `file`; may return less than the file has, 0 only at the end.
    pub(super) fn read_at(
        &self,
        file: &fs::File,
        buffer: &mut [u8],
        position: u64,
    ) -> io::Result<usize> {
        match self {
            Self::Direct(direct) => match read_direct(direct, buffer, position) {
                Err(error) if is_refused(&error) => read_dropping(file, buffer, position),
                result => result,
            },
            Self::DropPages => read_dropping(file, buffer, position),
        }
    }

    /// Reads blocks into a buffer that needs no copy.
    ///
    /// # Errors
    /// `Unsupported` if the page cache cannot be bypassed; otherwise those of the read.
    pub(super) fn read_direct(
        &self,
        buffer: &mut DirectBuffer,
        position: u64,
        length: usize,
    ) -> io::Result<()> {
        if !position.is_multiple_of(ALIGNMENT_U64) {
            return Err(ErrorKind::InvalidInput.into());
        }
        let Self::Direct(direct) = self else { return Err(ErrorKind::Unsupported.into()) };
        buffer
            .fill(length, |part, before| {
                uninterrupted(|| direct.read_at(part, position + before as u64))
            })
            .map_err(|error| if is_refused(&error) { ErrorKind::Unsupported.into() } else { error })
    }
}

fn is_refused(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(Errno::EINVAL as i32) || code == Some(Errno::EOPNOTSUPP as i32)
}

fn read_direct(direct: &fs::File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let start = position - position % ALIGNMENT_U64;
    #[expect(clippy::cast_possible_truncation, reason = "a remainder, below the alignment")]
    let skipped = (position - start) as usize;
    let wanted = buffer.len().min(READ_LIMIT);
    let length = (skipped + wanted).next_multiple_of(ALIGNMENT);

    let mut memory = vec![0; length + ALIGNMENT];
    let lead = memory.as_ptr().align_offset(ALIGNMENT);
    let aligned = &mut memory[lead..lead + length];
    let count = direct.read_at(aligned, start)?.saturating_sub(skipped).min(wanted);
    buffer[..count].copy_from_slice(&aligned[skipped..skipped + count]);
    Ok(count)
}

fn read_dropping(file: &fs::File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    // `POSIX_FADV_DONTNEED` keeps dirty pages, so write them first.
    uninterrupted(|| Ok(fdatasync(file)?))?;
    let length = i64::try_from(buffer.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let start = i64::try_from(position).map_err(|_| ErrorKind::InvalidInput)?;
    // The kernel keeps a page that is covered only in part, so extend the range by a page at either
    // end.
    let page = ALIGNMENT_I64;
    let first = (start - page).max(0);
    let last = start.saturating_add(length).saturating_add(page);
    let advice = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
    posix_fadvise(file, first, last - first, advice)?;
    file.read_at(buffer, position)
}
