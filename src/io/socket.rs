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
