//! Ctrl-C: the first press ends what the command waits for, a second one the process.
//!
//! A press ends one wait. What a command does after it, such as to leave its group, may wait again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use crate::client::Signals;

/// Whether a person pressed Ctrl-C.
#[derive(Debug)]
pub(crate) struct CtrlC {
    /// No wait has ended by it yet.
    is_news: Arc<AtomicBool>,
    /// Readable from the first press on.
    pressed: UnixStream,
}

impl CtrlC {
    /// Watches until the process ends: there is one command in it.
    pub(crate) fn watched() -> io::Result<&'static Self> {
        let is_pressed = Arc::new(AtomicBool::new(false));
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&is_pressed))?;
        flag::register(SIGINT, is_pressed)?;
        let is_news = Arc::new(AtomicBool::new(false));
        flag::register(SIGINT, Arc::clone(&is_news))?;
        let (pressed, pressing) = UnixStream::pair()?;
        low_level::pipe::register(SIGINT, pressing)?;
        Ok(Box::leak(Box::new(Self { is_news, pressed })))
    }

    /// Waits until `input` has something or ends; whether Ctrl-C came before that.
    pub(crate) fn comes_before(&self, input: BorrowedFd<'_>) -> io::Result<bool> {
        let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut both = [watch(self.pressed.as_fd()), watch(input)];
        loop {
            match poll(&mut both, PollTimeout::NONE) {
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_pressed = both[0].any() == Some(true);
        if is_pressed {
            self.is_news.store(false, Ordering::Relaxed);
        }
        Ok(is_pressed)
    }
}

impl Signals for CtrlC {
    /// The flag tells enough.
    fn watch(&self, _pipe: RawFd) -> Option<RawFd> {
        Some(-1)
    }

    fn restore(&self, _before: RawFd, _missed: &[u8]) {}

    fn gives_up(&self) -> bool {
        self.is_news.swap(false, Ordering::Relaxed)
    }
}
