//! Writes to sockets that `std` does not offer: gathered buffers with `MSG_MORE`, and ranges of
//! files, which the kernel sends without a copy to this process.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};

#[cfg(feature = "embedded")]
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{MsgFlags, sendmsg};

use crate::io::interruptions::uninterrupted;

/// Offers `buffers` to a non-blocking socket and returns the number of bytes taken. With `more`,
/// the kernel waits briefly for the bytes that follow before it sends a short packet.
///
/// # Errors
/// `WouldBlock` if the socket is full; never SIGPIPE.
pub fn send_buffers(
    socket: BorrowedFd<'_>,
    buffers: &[IoSlice<'_>],
    more: bool,
) -> io::Result<usize> {
    uninterrupted(|| Ok(sendmsg::<()>(socket.as_raw_fd(), buffers, &[], flags(more), None)?))
}

#[cfg(target_os = "linux")]
fn flags(more: bool) -> MsgFlags {
    let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    // `nix` has no name for the second flag.
    if more { flags | MsgFlags::from_bits_retain(nix::libc::MSG_MORE) } else { flags }
}

/// Other systems may lack these two flags. On macOS, sockets of `std` and tokio raise no SIGPIPE.
#[cfg(not(target_os = "linux"))]
fn flags(_more: bool) -> MsgFlags {
    MsgFlags::MSG_DONTWAIT
}

/// Sends up to `length` bytes of `file` from `position` and returns the number sent; 0 means that
/// the file ends at `position`. The file's cursor is neither used nor moved.
///
/// Unlike `send`, `sendfile` has no flag that suppresses SIGPIPE, so the process must ignore that
/// signal. Rust and Python programs do so from their start; a C program that loads this crate must
/// do so itself.
///
/// # Errors
/// `WouldBlock` if the socket is full and non-blocking, `BrokenPipe` if the peer is gone.
#[cfg(feature = "embedded")]
pub(super) fn send_file(
    socket: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    position: u64,
    length: usize,
) -> io::Result<usize> {
    let position = i64::try_from(position).map_err(|_| io::ErrorKind::InvalidInput)?;
    uninterrupted(|| Ok(sendfile(socket, file, Some(&mut position.clone()), length)?))
}
