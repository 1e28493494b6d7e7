//! Sending a range of a file to a socket without the bytes passing through this process.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

use nix::sys::sendfile::sendfile;

use crate::io::interruptions::uninterrupted;

/// Sends up to `length` bytes of `file` from `position` and returns the number sent; 0 means that
/// the file ends there. The file's cursor is neither used nor moved.
///
/// Unlike `send`, `sendfile` has no flag that suppresses SIGPIPE, so the process must ignore that
/// signal. Rust and Python programs do so from their start; a C program that loads this crate must
/// do so itself.
///
/// # Errors
/// `WouldBlock` if the socket is full and non-blocking, `BrokenPipe` if the peer is gone.
pub(super) fn send_file(
    socket: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    position: u64,
    length: usize,
) -> io::Result<usize> {
    let position = i64::try_from(position).map_err(|_| ErrorKind::InvalidInput)?;
    uninterrupted(|| Ok(sendfile(socket, file, Some(&mut position.clone()), length)?))
}
