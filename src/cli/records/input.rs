//! Standard input or a file, read until the end or Ctrl-C.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, StdinLock};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::sys::stat::{SFlag, fstat};

use crate::cli::CtrlC;
use crate::cli::ctrl_c::Waited;
use crate::cli::progress::{Progress, Unit};

/// An input that Ctrl-C can interrupt, also while it waits for a writer.
pub(super) struct Input {
    source: Source,
    ctrl_c: &'static CtrlC,
    is_cut_off: bool,
    progress: Option<Progress>,
}

enum Source {
    Stdin(StdinLock<'static>),
    File(File),
}

impl Input {
    /// Standard input.
    pub(super) fn of_stdin(ctrl_c: &'static CtrlC) -> Self {
        Self::new(Source::Stdin(io::stdin().lock()), ctrl_c)
    }

    /// Opens a file. A named pipe without a writer is waited for when it is read.
    pub(super) fn open(path: &Path, ctrl_c: &'static CtrlC) -> io::Result<Self> {
        Ok(Self::new(Source::File(open(path)?), ctrl_c))
    }

    fn new(source: Source, ctrl_c: &'static CtrlC) -> Self {
        Self { source, ctrl_c, is_cut_off: false, progress: None }
    }

    /// Shows a progress bar if this is a regular file.
    pub(super) fn with_progress(mut self) -> Self {
        self.progress = self.source.size().map(|size| Progress::of(size, Unit::Bytes));
        self
    }

    /// Returns true if Ctrl-C ended the input.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let waited = self.ctrl_c.or_input(self.source.as_fd())?;
            self.is_cut_off |= waited == Waited::Pressed;
            if self.is_cut_off {
                return Ok(0);
            }
            match self.source.read(buffer) {
                // Another reader of the pipe was faster.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => {
                    let count = read?;
                    self.progress.iter().for_each(|progress| progress.add(count as u64));
                    return Ok(count);
                }
            }
        }
    }
}

impl Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::File(file) => file.as_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stdin(stdin) => stdin.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }

    /// The size of a regular file.
    fn size(&self) -> Option<u64> {
        let stat = fstat(self.as_fd()).ok()?;
        let is_file = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        u64::try_from(stat.st_size).ok().filter(|_| is_file)
    }
}

/// Opens a file without blocking: `open` of a named pipe would wait for its writer, and not for
/// Ctrl-C.
#[expect(clippy::disallowed_methods, reason = "a person's file, not one of a log")]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}
