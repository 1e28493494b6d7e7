//! Sending a range of a file to a socket without the bytes passing through this process.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

use nix::sys::sendfile::sendfile;

use crate::io::interruptions::uninterrupted;

/// Sends up to `length` bytes of `file` from `position` and tells how many went; 0 means that the
/// file ends there. The file's cursor is neither used nor moved.
///
/// The system has no flag against SIGPIPE here, as `send` has: the process must ignore that signal.
/// Programs of Rust and of Python do from their start; one of C that loads this crate must see to
/// it.
///
/// # Errors
/// `WouldBlock` when the socket is full and non-blocking, `BrokenPipe` when the peer is gone.
pub(super) fn send_file(
    socket: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    position: u64,
    length: usize,
) -> io::Result<usize> {
    let position = i64::try_from(position).map_err(|_| ErrorKind::InvalidInput)?;
    uninterrupted(|| Ok(sendfile(socket, file, Some(&mut position.clone()), length)?))
}
