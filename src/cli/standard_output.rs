//! Standard output of commands: written in whole rows, until Ctrl-C or until the reader is gone.
//!
//! The bytes of one `write` call are a row. Ctrl-C never splits a row that is being read: one that
//! was begun is completed, as long as a pipe's reader takes more of it within 30 ms, and a terminal
//! within half a second. A pipe whose reader has stalled, or a stopped terminal, blocks a command
//! until Ctrl-C at most.

use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
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

/// The wait, after Ctrl-C, until the reader of a pipe accepts the next part of a row.
const ROW_END: Duration = Duration::from_millis(30);

/// The number of bytes that a terminal is given at once: a slow one takes them in half a second.
const TERMINAL_CHUNK: usize = 256;

/// The time after Ctrl-C for which a terminal may take nothing before it counts as unread.
const UNREAD: Duration = Duration::from_millis(500);

/// The interval at which a waiting command checks whether its output still has a reader.
pub(crate) const READER_CHECK: Duration = Duration::from_millis(250);

/// The destination of the bytes.
type Output = Arc<dyn AsFd + Send + Sync>;

/// Standard output.
pub(crate) struct StandardOutput {
    out: Output,
    ctrl_c: &'static CtrlC,
    kind: Kind,
    /// Writes for this output if it is a terminal; begins with the first write.
    terminal: Option<TerminalWriter>,
    /// Whole rows that are not written yet.
    rows: Vec<u8>,
}

/// The kind of a standard output, by which its writes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file, which never blocks.
    File,
    /// A pipe, or anything else whose reader may be slow.
    Pipe,
    Terminal,
}

impl Kind {
    fn of(out: BorrowedFd<'_>) -> Self {
        let is_file = |mode| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        if out.is_terminal() {
            Self::Terminal
        } else if fstat(out).is_ok_and(|stat| is_file(stat.st_mode)) {
            Self::File
        } else {
            Self::Pipe
        }
    }

    /// The maximum number of bytes of one write.
    fn write_max(self) -> usize {
        match self {
            Self::File => usize::MAX,
            Self::Pipe => PIPE_CHUNK,
            Self::Terminal => TERMINAL_CHUNK,
        }
    }
}

impl StandardOutput {
    /// The standard output of this process.
    pub(crate) fn new(ctrl_c: &'static CtrlC) -> Self {
        Self::to(Arc::new(io::stdout()), ctrl_c)
    }

    fn to(out: Output, ctrl_c: &'static CtrlC) -> Self {
        let kind = Kind::of(out.as_fd());
        Self { out, ctrl_c, kind, terminal: None, rows: Vec::new() }
    }

    /// Waits until standard output is writable; `is_begun` is true within a row.
    fn wait(&self, is_begun: bool) -> io::Result<()> {
        let row_end = match self.kind {
            Kind::File => return Ok(()),
            Kind::Pipe => ROW_END,
            Kind::Terminal => UNREAD,
        };
        let out = self.out.as_fd();
        if !self.ctrl_c.is_pressed() && self.ctrl_c.or_output(out)? != Waited::Pressed {
            return Ok(());
        }
        let time = if is_begun { row_end } else { Duration::ZERO };
        let time = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        if is_ready(out, PollFlags::POLLOUT, time)? {
            return Ok(());
        }
        self.ctrl_c.note_reported();
        Err(Pressed.into())
    }

    /// Writes some bytes of `part`; returns their number.
    fn write_some(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.kind != Kind::Terminal {
            return write_to(self.out.as_fd(), part);
        }
        let terminal = match self.terminal.take() {
            Some(terminal) => terminal,
            None => TerminalWriter::start(Arc::clone(&self.out))?,
        };
        self.terminal.insert(terminal).write(part, self.ctrl_c)
    }
}

impl Write for StandardOutput {
    fn write(&mut self, row: &[u8]) -> io::Result<usize> {
        let chunk = if self.kind == Kind::File { FILE_CHUNK } else { PIPE_CHUNK };
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
            let end = rows.len().min(at.saturating_add(self.kind.write_max()));
            at += self.write_some(&rows[at..end])?;
        }
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

/// A thread that writes to a terminal.
///
/// poll(2) calls a terminal writable that has room for a single byte, and the write of more then
/// blocks until somebody reads. Ctrl-C does not end it: the thread is left in it.
struct TerminalWriter {
    parts: SyncSender<Vec<u8>>,
    written: Receiver<io::Result<usize>>,
    /// True once the thread was left in a write.
    is_left: bool,
}

impl TerminalWriter {
    fn start(out: Output) -> io::Result<Self> {
        let (parts, to_write) = sync_channel::<Vec<u8>>(1);
        let (results, written) = sync_channel(1);
        thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            for part in to_write {
                if results.send(write_to(out.as_fd(), &part)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { parts, written, is_left: false })
    }

    /// Writes some bytes of `part`; returns their number, or fails after Ctrl-C when nobody reads.
    fn write(&mut self, part: &[u8], ctrl_c: &CtrlC) -> io::Result<usize> {
        if self.is_left {
            return Err(Pressed.into());
        }
        self.parts.send(part.to_vec()).map_err(io::Error::other)?;
        loop {
            let was_pressed = ctrl_c.is_pressed();
            match self.written.recv_timeout(UNREAD) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if was_pressed => {
                    self.is_left = true;
                    return Err(Pressed.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(error @ RecvTimeoutError::Disconnected) => return Err(io::Error::other(error)),
            }
        }
    }
}

/// Writes some bytes of `part`; returns their number.
fn write_to(out: BorrowedFd<'_>, part: &[u8]) -> io::Result<usize> {
    loop {
        match write(out, part) {
            Ok(count) => return Ok(count),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
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

#[cfg(test)]
#[path = "standard_output_tests.rs"]
mod tests;
