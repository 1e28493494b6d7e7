//! Gathered socket writes with `MSG_MORE`, which `std` does not offer.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};

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
    let mut flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    if more {
        // `nix` has no name for this flag.
        flags |= MsgFlags::from_bits_retain(nix::libc::MSG_MORE);
    }
    uninterrupted(|| Ok(sendmsg::<()>(socket.as_raw_fd(), buffers, &[], flags, None)?))
}
