//! A descriptor that other threads make readable, which ends a sleep in `poll(2)`: on Linux an
//! eventfd, elsewhere a non-blocking pipe.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

#[cfg(target_os = "linux")]
use event::Source;
#[cfg(target_os = "linux")]
use nix::fcntl::OFlag;
#[cfg(not(target_os = "linux"))]
use pipe::Source;

/// Readable from the first [`wake`](Self::wake) to the next [`clear`](Self::clear).
#[derive(Debug)]
pub struct WakeFd(Source);

impl WakeFd {
    /// A descriptor that is not readable.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Source::new().map(Self)
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // This fails only if the counter or the pipe is full, and then the descriptor is readable
        // already.
        let _ = self.0.wake();
    }

    /// Makes the descriptor unreadable again. If this fails, the only effect is that the next sleep
    /// ends early.
    pub fn clear(&self) {
        let _ = self.0.clear();
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

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
    use nix::fcntl::{FcntlArg, fcntl};

    let (reader, writer) = io::pipe()?;
    for end in [reader.as_fd(), writer.as_fd()] {
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    Ok((reader, writer))
}

#[cfg(target_os = "linux")]
mod event {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};

    use nix::sys::eventfd::{EfdFlags, EventFd};

    #[derive(Debug)]
    pub(super) struct Source(EventFd);

    impl Source {
        pub(super) fn new() -> io::Result<Self> {
            let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
            Ok(Self(EventFd::from_flags(flags)?))
        }

        pub(super) fn wake(&self) -> io::Result<()> {
            Ok(self.0.write(1).map(drop)?)
        }

        pub(super) fn clear(&self) -> io::Result<()> {
            Ok(self.0.read().map(drop)?)
        }
    }

    impl AsFd for Source {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(any(test, not(target_os = "linux")))]
mod pipe {
    use std::io::{self, PipeReader, PipeWriter, Read, Write};
    use std::os::fd::{AsFd, BorrowedFd};

    use super::nonblocking_pipe;

    #[derive(Debug)]
    pub(super) struct Source {
        reader: PipeReader,
        writer: PipeWriter,
    }

    impl Source {
        pub(super) fn new() -> io::Result<Self> {
            nonblocking_pipe().map(|(reader, writer)| Self { reader, writer })
        }

        pub(super) fn wake(&self) -> io::Result<()> {
            (&self.writer).write(&[1]).map(drop)
        }

        pub(super) fn clear(&self) -> io::Result<()> {
            let mut bytes = [0; 64];
            while (&self.reader).read(&mut bytes)? == bytes.len() {}
            Ok(())
        }
    }

    impl AsFd for Source {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.reader.as_fd()
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn is_readable(descriptor: &impl AsFd) -> bool {
        let mut watched = [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn an_eventfd_is_readable_until_it_is_cleared() {
        let descriptor = WakeFd::new().unwrap();
        assert!(!is_readable(&descriptor));
        descriptor.wake();
        descriptor.wake();
        assert!(is_readable(&descriptor));
        descriptor.clear();
        assert!(!is_readable(&descriptor));
    }

    #[test]
    fn a_pipe_is_readable_until_it_is_cleared_however_often_it_was_written_to() {
        let descriptor = pipe::Source::new().unwrap();
        assert!(!is_readable(&descriptor));
        // Wake more often than a pipe has room for.
        for _ in 0..100_000 {
            let _ = descriptor.wake();
        }
        assert!(is_readable(&descriptor));
        while descriptor.clear().is_ok() && is_readable(&descriptor) {}
        assert!(!is_readable(&descriptor));
    }
}
