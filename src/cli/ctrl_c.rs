//! Ctrl-C: the first press interrupts the command's current wait, the second ends the process.
//!
//! A press interrupts a single wait, or a loop that checks for it. The cleanup afterwards, such as
//! leaving a group, may wait again.

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

/// The state of Ctrl-C.
#[derive(Debug)]
pub(crate) struct CtrlC {
    /// True after the first press.
    is_pressed: Arc<AtomicBool>,
    /// True from the first press until a wait or a check has reported it.
    is_news: Arc<AtomicBool>,
    /// Readable after the first press.
    pressed: UnixStream,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The descriptor is ready.
    Ready,
    /// Ctrl-C was pressed first.
    Pressed,
}

impl CtrlC {
    /// Registers the watch for the rest of the process, which runs a single command.
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

    /// One that no signal presses, and what presses it.
    #[cfg(test)]
    pub(crate) fn of_a_test() -> (&'static Self, impl FnOnce()) {
        let [is_pressed, is_news] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (pressed, mut pressing) = UnixStream::pair().unwrap();
        let pressed_flags = [Arc::clone(&is_pressed), Arc::clone(&is_news)];
        let press = move || {
            for flag in pressed_flags {
                flag.store(true, Ordering::Relaxed);
            }
            std::io::Write::write_all(&mut pressing, &[0]).unwrap();
        };
        (Box::leak(Box::new(Self { is_pressed, is_news, pressed })), press)
    }

    /// One that is pressed between a look at [`is_pressed`](Self::is_pressed) and the next wait.
    #[cfg(test)]
    pub(crate) fn pressed_before_a_wait() -> &'static Self {
        let (ctrl_c, press) = Self::of_a_test();
        press();
        ctrl_c.is_pressed.store(false, Ordering::Relaxed);
        ctrl_c
    }

    /// Returns true if Ctrl-C was ever pressed.
    pub(crate) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Fails once after a press; called by loops that may run without waiting.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let is_news = self.is_news.load(Ordering::Relaxed) && self.gives_up();
        if is_news { Err(CommandError::Client(ClientError::Interrupted)) } else { Ok(()) }
    }

    /// Notes that a press has been reported: no check reports it again.
    pub(crate) fn note_reported(&self) {
        self.is_news.store(false, Ordering::Relaxed);
    }

    /// Waits until `input` is readable or at its end. A press counts as reported by that.
    pub(crate) fn or_input(&self, input: BorrowedFd<'_>) -> io::Result<Waited> {
        let waited = self.or_ready(PollFd::new(input, PollFlags::POLLIN))?;
        if waited == Waited::Pressed {
            self.note_reported();
        }
        Ok(waited)
    }

    /// Waits until `output` is writable, or its reader is gone. A press ends the wait, but is still
    /// reported later: the row may have to be completed first.
    pub(crate) fn or_output(&self, output: BorrowedFd<'_>) -> io::Result<Waited> {
        self.or_ready(PollFd::new(output, PollFlags::POLLOUT))
    }

    /// Waits for `time`, or until the reader of `output` is gone; true in the latter case. A press
    /// ends the wait but is still reported later.
    pub(crate) fn or_hangup(&self, output: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
        // poll(2) reports errors even if no events are requested.
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
        let is_pressed = watched[0].any() == Some(true);
        Ok(if is_pressed { Waited::Pressed } else { Waited::Ready })
    }
}

impl Signals for CtrlC {
    /// Needs no pipe: the flag set by the signal handler suffices.
    fn watch(&self, _pipe: RawFd) -> Option<RawFd> {
        Some(-1)
    }

    fn restore(&self, _before: RawFd, _missed: &[u8]) {}

    fn gives_up(&self) -> bool {
        self.is_news.swap(false, Ordering::Relaxed)
    }
}
