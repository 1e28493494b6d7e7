//! The lines of standard input or of a file, until the end or Ctrl-C.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::cli::records::input::Input;
use crate::cli::{CommandError, CtrlC};

/// The read size. It is larger than the standard library's buffer of stdin, so that reads bypass
/// that buffer and it holds nothing back.
const BUFFER_BYTES: usize = 64 * 1024;

/// Lines without their delimiters.
pub(super) struct Lines {
    input: BufReader<Input>,
    line: Vec<u8>,
    limits: Limits,
    name: String,
    /// The number of the last line read.
    number: u64,
}

/// The limits of a line.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// The delimiter, not empty.
    pub(super) delimiter: Vec<u8>,
    pub(super) line_max: u64,
}

/// A line, or a placeholder for one that is longer than `Limits::line_max`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    /// Lines of standard input.
    pub(super) fn of_stdin(ctrl_c: &'static CtrlC, limits: Limits) -> Self {
        Self::new(Input::of_stdin(ctrl_c), "standard input".to_owned(), limits)
    }

    /// Lines of a file.
    pub(super) fn of_file(
        path: &Path,
        ctrl_c: &'static CtrlC,
        limits: Limits,
    ) -> Result<Self, CommandError> {
        let name = path.display().to_string();
        match Input::open(path, ctrl_c) {
            Ok(file) => Ok(Self::new(file, name, limits)),
            Err(source) => Err(CommandError::Input { name, source }),
        }
    }

    fn new(input: Input, name: String, limits: Limits) -> Self {
        let input = BufReader::with_capacity(BUFFER_BYTES, input.with_progress());
        Self { input, line: Vec::new(), limits, name, number: 0 }
    }

    /// Returns the next line. Ctrl-C ends the input after the lines that were read from it, which
    /// nobody else can read again, and discards an incomplete line.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, CommandError> {
        let Limits { delimiter, line_max } = &self.limits;
        let found = read_line(&mut self.input, delimiter, *line_max, &mut self.line);
        let found = found
            .map_err(|source| CommandError::Input { name: self.name.clone(), source })?
            .filter(|_| !self.is_cut_off());
        let Some(is_whole) = found else { return Ok(None) };
        self.number += 1;
        Ok(Some(if is_whole { Line::Whole(&self.line) } else { Line::TooLong }))
    }

    /// The position of the last line read, for error messages.
    pub(super) fn place(&self) -> String {
        format!("line {} of {}", self.number, self.name)
    }

    /// A column in the last line read, for error messages.
    pub(super) fn place_of(&self, column: usize) -> String {
        format!("line {}, column {column} of {}", self.number, self.name)
    }

    /// Returns true if Ctrl-C ended the input.
    pub(super) fn is_cut_off(&self) -> bool {
        self.input.get_ref().is_cut_off()
    }
}

/// Reads a line without its delimiter; true if it is within the limit. `None` at the end.
fn read_line(
    input: &mut impl BufRead,
    delimiter: &[u8],
    line_max: u64,
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    let Some((last, before)) = delimiter.split_last() else { return Ok(None) };
    let room = line_max.saturating_add(delimiter.len() as u64);
    let mut is_cut = false;
    line.clear();
    loop {
        let left = room.saturating_sub(line.len() as u64).max(1);
        let count = input.by_ref().take(left).read_until(*last, line)?;
        let is_ended = line.ends_with(delimiter);
        if is_ended {
            line.truncate(line.len() - delimiter.len());
        }
        if is_ended || count == 0 {
            let is_line = is_ended || is_cut || !line.is_empty();
            return Ok(is_line.then_some(!is_cut && line.len() as u64 <= line_max));
        }
        if line.len() as u64 >= room {
            // Keep the last bytes, which may be the start of the delimiter.
            is_cut = true;
            line.drain(..line.len() - before.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, delimiter: &str, line_max: u64) -> Vec<Option<String>> {
        let (mut input, mut line) = (BufReader::with_capacity(3, text.as_bytes()), Vec::new());
        let mut all = Vec::new();
        while let Some(is_whole) =
            read_line(&mut input, delimiter.as_bytes(), line_max, &mut line).unwrap()
        {
            all.push(is_whole.then(|| String::from_utf8(line.clone()).unwrap()));
        }
        all
    }

    fn whole(lines: &[&str]) -> Vec<Option<String>> {
        lines.iter().map(|line| Some((*line).to_owned())).collect()
    }

    #[test]
    fn lines_end_with_the_delimiter_or_at_the_end_of_the_input() {
        assert_eq!(lines("a\n\nb", "\n", 9), whole(&["a", "", "b"]));
        assert_eq!(lines("a\nb\n--\nc\n--\n", "\n--\n", 9), whole(&["a\nb", "c"]));
        assert_eq!(lines("", "\n", 9), whole(&[]));
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        for (delimiter, long) in [("\n", "123456"), ("--", "-1234-6"), ("--", "123456789")] {
            let text = ["ab", long, "12345", long].join(delimiter);
            let expected = [Some("ab".to_owned()), None, Some("12345".to_owned()), None];
            assert_eq!(lines(&text, delimiter, 5), expected, "{text}");
        }
    }
}
