//! Non-blocking pipes.

use std::io::{self, PipeReader, PipeWriter};

use nix::fcntl::OFlag;

/// Opens a pipe whose ends are non-blocking and closed on exec.
///
/// # Errors
/// When the system has no descriptors left.
#[cfg(target_os = "linux")]
pub fn nonblocking_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    Ok((reader.into(), writer.into()))
}

/// Opens a pipe whose ends are non-blocking and closed on exec.
///
/// # Errors
/// When the system has no descriptors left.
#[cfg(not(target_os = "linux"))]
pub fn nonblocking_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    use std::os::fd::AsFd;

    use nix::fcntl::{FcntlArg, fcntl};

    let (reader, writer) = io::pipe()?;
    for end in [reader.as_fd(), writer.as_fd()] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    Ok((reader, writer))
}
