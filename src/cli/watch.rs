//! Repeated output of a command, for watching changes.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use clap::Args;
use console::truncate_str;
use jiff::Zoned;

use crate::cli::terminal::{Terminal, Tone};
use crate::cli::{ClusterOptions, CommandError, CtrlC, Exit, notify, report};
use crate::client::{Admin, Event};
use crate::config::duration;

/// The minimum interval, to limit the load on the cluster.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Moves the cursor to the first line.
const HOME: &str = "\x1b[H";

/// Clears the line after the cursor.
const CLEAR_LINE: &str = "\x1b[K";

/// Clears the screen after the cursor.
const CLEAR_BELOW: &str = "\x1b[J";

/// The option to repeat a command's output.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Repeat at this interval until Ctrl-C
    #[arg(long = "watch", value_name = "SECONDS", value_parser = interval)]
    interval: Option<Duration>,
}

/// The screen on which outputs replace each other.
struct Screen {
    terminal: Option<Terminal>,
    interval: Duration,
    is_used: bool,
}

impl Watch {
    /// Runs `ask` once, or repeatedly until Ctrl-C. The first run must succeed; if the cluster is
    /// unreachable later, the error is reported and the run repeated.
    pub(crate) fn answer(
        &self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
        mut ask: impl FnMut(&Admin, &mut dyn Write) -> Result<Exit, CommandError>,
    ) -> Result<Exit, CommandError> {
        let client = cluster.connect()?.0;
        let admin = client.admin();
        let Some(interval) = self.interval else { return ask(&admin, out) };
        // During an outage a request is retried until its timeout, so its error would come late.
        client.on_event(report_outage);
        let ctrl_c = cluster.ctrl_c()?;
        let terminal = Terminal::of_stdout().filter(|terminal| terminal.has_cursor);
        let mut screen = Screen { terminal, interval, is_used: false };
        loop {
            let mut answer = Vec::new();
            match ask(&admin, &mut answer) {
                Ok(_) => screen.show(out, &answer)?,
                Err(error) if screen.is_used && is_passing(&error) => report(&error),
                Err(error) => return Err(error),
            }
            if !screen.rest(ctrl_c)? {
                return Ok(Exit::Done);
            }
        }
    }
}

impl Screen {
    /// Shows an output in place of the previous one, or appends it in a file or pipe.
    fn show(&mut self, out: &mut dyn Write, answer: &[u8]) -> Result<(), CommandError> {
        let is_first = !std::mem::replace(&mut self.is_used, true);
        // The window's size may have changed.
        let terminal = self.terminal.and_then(|_| Terminal::of_stdout());
        match terminal {
            Some(terminal) => {
                let text = String::from_utf8_lossy(answer);
                out.write_all(self.page(terminal, &text, is_first).as_bytes())?;
            }
            None => out.write_all(answer)?,
        }
        Ok(out.flush()?)
    }

    /// The content of the screen: the time, and as many lines of the output as fit.
    fn page(&self, terminal: Terminal, text: &str, is_first: bool) -> String {
        let (seconds, now) = (self.interval.as_secs_f64(), Zoned::now().strftime("%H:%M:%S"));
        let title = format!("{now}, every {seconds} s until Ctrl-C");
        let mut page = if is_first { format!("{HOME}{CLEAR_BELOW}") } else { HOME.to_owned() };
        let room = terminal.lines.saturating_sub(2).max(1);
        let count = text.lines().count();
        let shown = if count > room { room - 1 } else { count };
        let rest = (count > shown).then(|| format!("… and {} more lines", count - shown));
        let title = terminal.toned(&title, Tone::Aside);
        let lines = text.lines().take(shown).chain(rest.as_deref());
        for line in std::iter::once(title.as_str()).chain(lines) {
            page.push_str(&truncate_str(line, terminal.columns, "…"));
            page.push_str(CLEAR_LINE);
            page.push('\n');
        }
        page + CLEAR_BELOW
    }

    /// Waits for the next run; false if the reader is gone.
    fn rest(&self, ctrl_c: &CtrlC) -> Result<bool, CommandError> {
        ctrl_c.check()?;
        let is_gone = ctrl_c.or_hangup(io::stdout().as_fd(), self.interval)?;
        ctrl_c.check()?;
        Ok(!is_gone)
    }
}

/// Reports the beginning and the end of an outage.
fn report_outage(event: &Event) {
    match event {
        Event::Lost { address, reason } => {
            notify(&format!("no broker can be reached; the last tried is {address}: {reason}"));
        }
        Event::Connected { address, outage } => {
            notify(&format!("reconnected to {address} after {outage:.1?}"));
        }
        _ => {}
    }
}

/// Returns true if the error may be temporary.
fn is_passing(error: &CommandError) -> bool {
    matches!(error.exit(), Exit::Unreachable | Exit::TimedOut)
}

/// Parses seconds, or a time with its unit.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let found = seconds.or_else(|| duration(text)?.try_into().ok());
    let found = found.filter(|interval| *interval >= INTERVAL_MIN);
    found.ok_or_else(|| "expected seconds, at least 0.1, as in 2 or 500ms".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_in_seconds_or_has_a_unit() {
        let read = |text: &str| interval(text).ok().map(|interval| interval.as_millis());
        assert_eq!(["2", "0.5", "500ms", "1m"].map(read), [2000, 500, 500, 60_000].map(Some));
        assert_eq!(["0", "-1", "0.01", "x", "NaN", "inf", "1e300"].map(read), [None; 7]);
    }

    #[test]
    fn an_output_is_cut_to_the_screen() {
        let screen = Screen { terminal: None, interval: Duration::from_secs(2), is_used: true };
        let page = |lines: usize, columns: usize, text: &str| {
            let terminal = Terminal { columns, lines, has_colours: false, has_cursor: true };
            let page = screen.page(terminal, text, false);
            let lines: Vec<String> =
                page.lines().map(|line| console::strip_ansi_codes(line).into_owned()).collect();
            // The cursor ends on a line of its own below the output.
            lines[1..lines.len() - 1].join("|")
        };
        assert_eq!(page(24, 80, "a\nb\n"), "a|b");
        assert_eq!(page(4, 80, "a\nb\n"), "a|b");
        assert_eq!(page(4, 80, "a\nb\nc\nd\n"), "a|… and 3 more lines");
        assert_eq!(page(24, 5, "abcdefgh\n"), "abcd…");
        assert_eq!(page(1, 80, "a\nb\n"), "… and 2 more lines");
    }
}
