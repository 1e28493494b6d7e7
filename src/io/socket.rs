//! What `std` does not offer of sockets: gathered writes that announce more to come.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::{MsgFlags, sendmsg};

use crate::io::interruptions::uninterrupted;

/// Offers `buffers` to a non-blocking socket and tells how many bytes it took. With `more`, the
/// kernel waits a moment for what follows before it sends a short packet.
///
/// # Errors
/// `WouldBlock` when the socket is full; never a signal.
pub fn send_buffers(
    socket: BorrowedFd<'_>,
    buffers: &[IoSlice<'_>],
    more: bool,
) -> io::Result<usize> {
    let mut flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
    if more {
        // The wrapper has no name for this flag; the kernel has.
        flags |= MsgFlags::from_bits_retain(nix::libc::MSG_MORE);
    }
    uninterrupted(|| Ok(sendmsg::<()>(socket.as_raw_fd(), buffers, &[], flags, None)?))
}
