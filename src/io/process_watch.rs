//! A watch for the end of another process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::io::sys;

/// A watch for the end of a process. It refers to the process itself, not to its id, which the
/// system may give to another process later.
#[derive(Debug)]
pub(crate) struct ProcessWatch(OwnedFd);

impl ProcessWatch {
    /// Watches the process that has this id now; `None` if there is no such process.
    ///
    /// # Errors
    /// If the system cannot watch it, which needs Linux 5.3.
    pub(crate) fn open(id: u32) -> io::Result<Option<Self>> {
        match sys::open_process(id) {
            Ok(descriptor) => Ok(Some(Self(descriptor))),
            Err(error) if error.raw_os_error() == Some(Errno::ESRCH as i32) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Blocks until the process has ended.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_end_of_a_process_is_noticed_before_anybody_asks_for_its_status() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let watch = ProcessWatch::open(child.id()).unwrap().unwrap();
        drop(child.stdin.take());
        watch.wait().unwrap();
        assert!(child.try_wait().unwrap().is_some_and(|status| status.success()));
        assert!(ProcessWatch::open(child.id()).unwrap().is_none());
    }
}
