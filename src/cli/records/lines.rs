//! The lines of standard input, up to its end or Ctrl-C.

use std::io::{self, BufRead, BufReader, Read, StdinLock};
use std::os::fd::AsFd;

use crate::cli::{CommandError, CtrlC};

/// As much is read at once; more than the library's buffer, so that nothing rests there unseen.
const BUFFER_BYTES: usize = 64 * 1024;

/// Lines, each without its end.
pub(super) struct Lines<'a> {
    input: BufReader<Input<'a>>,
    line: Vec<u8>,
    line_max: u64,
    /// Of the line that was read last.
    number: u64,
}

/// Standard input, which Ctrl-C ends.
struct Input<'a> {
    stdin: StdinLock<'static>,
    ctrl_c: &'a CtrlC,
    is_cut_off: bool,
}

impl<'a> Lines<'a> {
    /// Of standard input. A line of more than `line_max` bytes is an error.
    pub(super) fn of_stdin(ctrl_c: &'a CtrlC, line_max: u64) -> Self {
        let input = Input { stdin: io::stdin().lock(), ctrl_c, is_cut_off: false };
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Self { input, line: Vec::new(), line_max, number: 0 }
    }

    /// The next line. Ctrl-C ends the lines, and the one that was begun does not count.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, CommandError> {
        self.line.clear();
        let mut input = (&mut self.input).take(self.line_max.saturating_add(1));
        input.read_until(b'\n', &mut self.line).map_err(|source| {
            let name = "standard input".to_owned();
            CommandError::Input { name, source }
        })?;
        if self.line.is_empty() || self.is_cut_off() {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        if line.len() as u64 > self.line_max {
            return Err(too_long(self.number, self.line_max));
        }
        Ok(Some(line))
    }

    /// Whether Ctrl-C ended them.
    pub(super) fn is_cut_off(&self) -> bool {
        self.input.get_ref().is_cut_off
    }
}

fn too_long(number: u64, line_max: u64) -> CommandError {
    let reason =
        format!("it is longer than {line_max} bytes; a larger max.request.size allows longer ones");
    let name = format!("line {number} of standard input");
    CommandError::Input { name, source: io::Error::other(reason) }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_cut_off = self.is_cut_off || self.ctrl_c.comes_before(self.stdin.as_fd())?;
        if self.is_cut_off { Ok(0) } else { self.stdin.read(buffer) }
    }
}
