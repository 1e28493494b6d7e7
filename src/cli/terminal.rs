//! The terminal on standard output: its size, and whether it may be drawn on in colour.

use std::io::{self, IsTerminal};

use console::{Style, Term, is_dumb};

/// A terminal that a person watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Characters in a line.
    pub(crate) columns: usize,
    /// Lines of the screen.
    pub(crate) lines: usize,
    /// Whether it shows colours, and `NO_COLOR` is not set.
    pub(crate) has_colours: bool,
    /// Whether the cursor can be moved.
    pub(crate) has_cursor: bool,
}

/// The meaning of a text that is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A name of what follows, or of what stands below.
    Heading,
    /// All is well.
    Good,
    /// A person should look at it.
    Warning,
    /// Something does not work.
    Bad,
    /// Less important than the rest.
    Aside,
}

impl Terminal {
    /// That of standard output; `None` for a file or a pipe.
    pub(crate) fn of_stdout() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        // A terminal without a size breaks no line.
        let size = Term::stdout().size_checked();
        let (lines, columns) = size
            .map_or((usize::MAX, usize::MAX), |(lines, columns)| (lines.into(), columns.into()));
        let has_cursor = !is_dumb();
        Some(Self { columns, lines, has_colours: has_cursor && allows_colours(), has_cursor })
    }

    /// The text in the colours of its meaning.
    pub(crate) fn toned(self, text: &str, tone: Tone) -> String {
        let style = tone.style().force_styling(self.has_colours);
        style.apply_to(text).to_string()
    }
}

/// Whether the environment allows colours where they can be shown.
pub(crate) fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl Tone {
    /// The colours.
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
