//! Ctrl-C: the first press ends what the command waits for, a second one the process.
//!
//! A press ends one wait, or one loop that asks for it. What a command does after it, such as to
//! leave its group, may wait again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use crate::cli::CommandError;
use crate::client::{ClientError, Signals};

/// Whether a person pressed Ctrl-C.
#[derive(Debug)]
pub(crate) struct CtrlC {
    /// From the first press on.
    is_pressed: Arc<AtomicBool>,
    /// No wait has ended by it yet.
    is_news: Arc<AtomicBool>,
    /// Readable from the first press on.
    pressed: UnixStream,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The descriptor is ready.
    Ready,
    /// Ctrl-C came before that.
    Pressed,
}

impl CtrlC {
    /// Watches until the process ends: there is one command in it, which does so once.
    pub(crate) fn watched() -> io::Result<&'static Self> {
        let is_pressed = Arc::new(AtomicBool::new(false));
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&is_pressed))?;
        flag::register(SIGINT, Arc::clone(&is_pressed))?;
        let is_news = Arc::new(AtomicBool::new(false));
        flag::register(SIGINT, Arc::clone(&is_news))?;
        let (pressed, pressing) = UnixStream::pair()?;
        low_level::pipe::register(SIGINT, pressing)?;
        Ok(Box::leak(Box::new(Self { is_pressed, is_news, pressed })))
    }

    /// Whether it was pressed, however long ago.
    pub(crate) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Fails once after a press: asked by loops that have something to do without a wait.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let is_news = self.is_news.load(Ordering::Relaxed) && self.gives_up();
        if is_news { Err(CommandError::Client(ClientError::Interrupted)) } else { Ok(()) }
    }

    /// Waits until `input` has something or ends.
    pub(crate) fn or_input(&self, input: BorrowedFd<'_>) -> io::Result<Waited> {
        self.or_ready(PollFd::new(input, PollFlags::POLLIN))
    }

    /// Waits until `output` takes something, or nobody reads it any more.
    pub(crate) fn or_output(&self, output: BorrowedFd<'_>) -> io::Result<Waited> {
        self.or_ready(PollFd::new(output, PollFlags::POLLOUT))
    }

    /// Waits so long, or until nobody reads `output` any more; whether that is so. A press ends the
    /// wait and stays news.
    pub(crate) fn or_hangup(&self, output: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
        // Asked for nothing, an error is told all the same.
        let output = PollFd::new(output, PollFlags::empty());
        let mut watched = [PollFd::new(self.pressed.as_fd(), PollFlags::POLLIN), output];
        let time = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        match poll(&mut watched, time) {
            Ok(_) => Ok(watched[1].any() == Some(true)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn or_ready(&self, other: PollFd<'_>) -> io::Result<Waited> {
        let mut watched = [PollFd::new(self.pressed.as_fd(), PollFlags::POLLIN), other];
        loop {
            match poll(&mut watched, PollTimeout::NONE) {
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if watched[0].any() == Some(true) {
            self.is_news.store(false, Ordering::Relaxed);
            return Ok(Waited::Pressed);
        }
        Ok(Waited::Ready)
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
