//! Standard output of commands: written in whole rows, until Ctrl-C or until the reader is gone.
//!
//! The bytes of one `write` call are a row. Ctrl-C never splits a row: a row that was begun is
//! completed as long as it is being read. A pipe whose reader has stalled, or a stopped terminal,
//! blocks a command until Ctrl-C at most.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::write;

use crate::cli::CtrlC;
use crate::cli::ctrl_c::Waited;
use crate::cli::error::Pressed;

/// The number of bytes that a writable pipe accepts without blocking (`PIPE_BUF`).
const PIPE_CHUNK: usize = 4096;

/// The write size for files, which never block.
const FILE_CHUNK: usize = 64 * 1024;

/// The wait in milliseconds, after Ctrl-C, until the reader accepts the next part of a row.
const ROW_END_MS: u16 = 30;

/// The interval at which a waiting command checks whether its output still has a reader.
pub(crate) const READER_CHECK: Duration = Duration::from_millis(250);

/// Standard output.
pub(crate) struct StandardOutput {
    out: io::Stdout,
    ctrl_c: &'static CtrlC,
    is_file: bool,
    /// Whole rows that are not written yet.
    rows: Vec<u8>,
}

impl StandardOutput {
    /// The standard output of this process.
    pub(crate) fn new(ctrl_c: &'static CtrlC) -> Self {
        let out = io::stdout();
        let is_file = fstat(out.as_fd()).is_ok_and(|stat| {
            SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
        });
        Self { out, ctrl_c, is_file, rows: Vec::new() }
    }

    /// Waits until standard output is writable; `is_begun` is true within a row.
    fn wait(&self, is_begun: bool) -> io::Result<()> {
        if self.is_file {
            return Ok(());
        }
        let out = self.out.as_fd();
        if !self.ctrl_c.is_pressed() && self.ctrl_c.or_output(out)? != Waited::Pressed {
            return Ok(());
        }
        let time = if is_begun { PollTimeout::from(ROW_END_MS) } else { PollTimeout::ZERO };
        if is_ready(out, PollFlags::POLLOUT, time)? { Ok(()) } else { Err(Pressed.into()) }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, row: &[u8]) -> io::Result<usize> {
        let chunk = if self.is_file { FILE_CHUNK } else { PIPE_CHUNK };
        if !self.rows.is_empty() && self.rows.len() + row.len() > chunk {
            self.flush()?;
        }
        self.rows.extend_from_slice(row);
        Ok(row.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut at = 0;
        while at < rows.len() {
            self.wait(at > 0)?;
            let end = if self.is_file { rows.len() } else { rows.len().min(at + PIPE_CHUNK) };
            match write(self.out.as_fd(), &rows[at..end]) {
                Ok(count) => at += count,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

/// Returns true if the reader of standard output is gone.
pub(crate) fn is_abandoned() -> bool {
    let out = io::stdout();
    // poll(2) reports errors even if no events are requested.
    is_ready(out.as_fd(), PollFlags::empty(), PollTimeout::ZERO).unwrap_or(false)
}

fn is_ready(out: BorrowedFd<'_>, flags: PollFlags, time: PollTimeout) -> io::Result<bool> {
    let mut watched = [PollFd::new(out, flags)];
    loop {
        match poll(&mut watched, time) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
