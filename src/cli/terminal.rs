//! The terminal on standard output: its size and capabilities.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use console::{Style, Term, is_dumb};

/// A terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Columns.
    pub(crate) columns: usize,
    /// Lines.
    pub(crate) lines: usize,
    /// True if it supports colours and `NO_COLOR` is not set.
    pub(crate) has_colours: bool,
    /// True if the cursor can be moved.
    pub(crate) has_cursor: bool,
}

/// The meaning of coloured text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A heading or a field's name.
    Heading,
    /// A healthy state.
    Good,
    /// A state that needs attention.
    Warning,
    /// A failure.
    Bad,
    /// Text of less importance.
    Aside,
}

impl Terminal {
    /// The terminal on standard output; `None` for a file or a pipe.
    pub(crate) fn of_stdout() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        // A terminal that does not report its size counts as infinitely large.
        let size = Term::stdout().size_checked();
        let (lines, columns) = size
            .map_or((usize::MAX, usize::MAX), |(lines, columns)| (lines.into(), columns.into()));
        let has_cursor = !is_dumb();
        Some(Self { columns, lines, has_colours: has_cursor && allows_colours(), has_cursor })
    }

    /// Colours a text by its meaning.
    pub(crate) fn toned(self, text: &str, tone: Tone) -> String {
        let style = tone.style().force_styling(self.has_colours);
        style.apply_to(text).to_string()
    }
}

/// A text for display, with its control characters escaped. A client may have chosen it: a newline
/// would begin another row, and an escape sequence would command the terminal.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Returns true unless the environment disables colours.
pub(crate) fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl Tone {
    /// The style of this meaning.
    pub(crate) fn style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold(),
            Self::Good => Style::new().green(),
            Self::Warning => Style::new().yellow(),
            Self::Bad => Style::new().red().bold(),
            Self::Aside => Style::new().dim(),
        }
    }
}
