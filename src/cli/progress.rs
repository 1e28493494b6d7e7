//! Progress bars.
//!
//! They are drawn on standard error, and only if it is a terminal and `NO_COLOR` is not set, so
//! they never appear in logs and pipes. They are removed when the command ends.

use std::fmt;
use std::io::{self, IsTerminal};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::cli::terminal::allows_colours;

/// The width of a terminal below which counts are omitted.
const COUNTS_COLUMNS: usize = 72;

/// The unit being counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Bytes,
    Files,
    Records,
}

/// A progress bar.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

/// Returns true if standard error is a terminal and `NO_COLOR` is not set.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal() && allows_colours()
}

impl Progress {
    /// A progress bar up to `total`.
    pub(crate) fn of(total: u64, unit: Unit) -> Self {
        let target =
            if is_watched() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        Self { bar: bar.with_style(unit.style()) }
    }

    /// A progress bar of a command that writes as it goes; none if the output is on a terminal,
    /// where the bar would mix with it.
    pub(crate) fn beside_answer(total: u64, unit: Unit) -> Option<Self> {
        (is_watched() && !io::stdout().is_terminal()).then(|| Self::of(total, unit))
    }

    /// Advances the bar.
    pub(crate) fn add(&self, done: u64) {
        self.bar.inc(done);
    }

    /// Sets the bar by the remaining amount.
    pub(crate) fn set_left(&self, left: u64) {
        self.bar.set_position(self.bar.length().unwrap_or(0).saturating_sub(left));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Unit {
    fn style(self) -> ProgressStyle {
        let counts = match self {
            Self::Bytes => "{binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}",
            Self::Files => "{human_pos} of {human_len} files",
            Self::Records => "{human_pos} of {human_len} records, {rate}",
        };
        let columns =
            Term::stderr().size_checked().map_or(usize::MAX, |(_, columns)| columns.into());
        let counts = if columns < COUNTS_COLUMNS { String::new() } else { format!("{counts}, ") };
        let template = format!("{{percent:>3}} % {{wide_bar}} {counts}{{eta}} left");
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|error| unreachable!("{template}: {error}"));
        style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Writing fails only if the terminal is gone.
            let _ = write!(out, "{:.0}/s", state.per_sec());
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_style() {
        for unit in [Unit::Bytes, Unit::Files, Unit::Records] {
            let progress = Progress::of(10, unit);
            progress.set_left(4);
            progress.add(1);
            assert_eq!(progress.bar.position(), 7);
        }
    }
}
