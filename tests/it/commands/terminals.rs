//! Output on a terminal: width, colours, and repeated output.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::on_a_cluster::CommandLine;

/// A command on a terminal, with the end that shows its drawing.
struct Watched {
    child: Child,
    screen: BufReader<File>,
}

impl Watched {
    fn start(mut command: Command, columns: u16) -> Self {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let child = command.stdout(pty.slave).stderr(Stdio::null()).spawn().unwrap();
        // Our copy of the other end is closed with it.
        drop(command);
        Self { child, screen: BufReader::new(File::from(pty.master)) }
    }

    /// Everything drawn until its successful end.
    fn drawn(mut self) -> String {
        let mut all = Vec::new();
        // Reading from a terminal whose other end is closed fails.
        let _ = self.screen.read_to_end(&mut all);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        String::from_utf8(all).unwrap().replace("\r\n", "\n")
    }

    /// Reads up to the first line that contains this text.
    fn find(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let count = self.screen.read_line(&mut line).unwrap();
            assert!(count > 0, "it ended before {text:?}");
        }
    }

    fn interrupt(mut self) -> Option<i32> {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        let _ = self.screen.read_to_end(&mut Vec::new());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command on a terminal with colours.
fn command(command_line: &CommandLine, arguments: &[&str]) -> Command {
    let mut command = command_line.command(arguments);
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    command
}

fn drawn(command_line: &CommandLine, arguments: &[&str], columns: u16) -> String {
    Watched::start(command(command_line, arguments), columns).drawn()
}

/// The text without control sequences.
fn without_colours(text: &str) -> String {
    let (mut plain, mut is_code) = (String::new(), false);
    for letter in text.chars() {
        match letter {
            '\x1b' => is_code = true,
            _ if is_code => is_code = !letter.is_ascii_alphabetic(),
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn a_narrow_terminal_shows_each_row_as_lines_that_fit() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "orders", "-p", "2"]);
    command_line.text(&["consume", "orders", "-e", "--group", "billing"]);
    let describe = ["topic", "describe", "orders"];
    let others: [&[&str]; 4] = [
        &["group", "describe", "billing"],
        &["node", "list"],
        &["topic", "list"],
        &["group", "lag"],
    ];
    for arguments in others.into_iter().chain([&describe[..]]) {
        let narrow = without_colours(&drawn(&command_line, arguments, 40));
        assert!(narrow.lines().all(|line| line.len() <= 40), "{narrow}");
        // A wide terminal shows the same as a pipe.
        assert_eq!(
            without_colours(&drawn(&command_line, arguments, 200)),
            command_line.text(arguments)
        );
    }
    let narrow = without_colours(&drawn(&command_line, &describe, 40));
    assert_eq!(narrow.matches("TOPIC     orders\n").count(), 2, "{narrow}");
    assert!(narrow.contains("\nPART      0\nLEADER    1\n"), "{narrow}");
}

#[test]
fn a_bar_fits_into_a_narrow_terminal() {
    let command_line = CommandLine::new();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&b"123456789\n".repeat(100_000)).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 40, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).unwrap();
    let mut command =
        command(&command_line, &["produce", "t", "-l", file.path().to_str().unwrap()]);
    let mut child = command.stdout(Stdio::null()).stderr(pty.slave).spawn().unwrap();
    drop(command);
    let mut drawn = Vec::new();
    let _ = File::from(pty.master).read_to_end(&mut drawn);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let drawn = without_colours(&String::from_utf8(drawn).unwrap());
    assert!(drawn.contains(" % "), "{drawn:?}");
    let lines: Vec<_> = drawn.split(['\r', '\n']).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:?}");
}

#[test]
fn colours_are_used_only_on_terminals_that_allow_them() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "orders"]);
    let colours = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(&command_line, arguments);
        command.envs(variables.iter().copied());
        Watched::start(command, 80).drawn().contains('\x1b')
    };
    for arguments in
        [&["topic", "list"][..], &["cluster", "status"], &["topic", "list", "-o", "json"]]
    {
        assert!(colours(arguments, &[]), "{arguments:?}");
        for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            assert!(!colours(arguments, &[variable]), "{arguments:?} {variable:?}");
        }
        assert!(colours(arguments, &[("NO_COLOR", "")]), "{arguments:?}");
        let piped = command(&command_line, arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        assert!(!String::from_utf8(piped.stdout).unwrap().contains('\x1b'), "{arguments:?}");
    }
    assert!(drawn(&command_line, &["cluster", "status"], 80).contains("\x1b[32mok\x1b[0m"));
    for output in ["csv", "yaml"] {
        assert!(!colours(&["topic", "list", "-o", output], &[]), "{output}");
    }
}

#[test]
fn json_is_spread_over_lines_only_on_a_terminal() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t"], "x\n");
    for arguments in [&["topic", "list", "-o", "json"][..], &["consume", "t", "-e", "-o", "json"]] {
        let pretty = without_colours(&drawn(&command_line, arguments, 80));
        assert!(pretty.starts_with("{\n  \"topic\": \"t\",\n"), "{pretty}");
        let plain = command_line.text(arguments);
        assert_eq!(plain.lines().count(), 1, "{plain}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&pretty), read(&plain));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_shown_as_digits_only_on_a_terminal() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t", "-p", "1"]);
    command_line.run_with(&["produce", "t", "-K", ":", "-s", "hex"], "ff00:fe\n");
    let consume = ["consume", "t", "-e", "-f", "%k %v\\n"];
    assert_eq!(drawn(&command_line, &consume, 80), "0xff00 0xfe\n");
    assert_eq!(command_line.run(&consume).stdout, b"\xff\x00 \xfe\n");
}

#[test]
fn a_repeated_output_replaces_the_previous_one_on_a_terminal() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "first"]);
    let watch = ["topic", "list", "--watch", "0.1"];
    let mut watched = Watched::start(command(&command_line, &watch), 80);
    watched.find("every 0.1 s until Ctrl-C");
    watched.find("first");
    command_line.text(&["topic", "create", "second"]);
    watched.find("second");
    watched.find("\x1b[H");
    watched.find("second");
    assert_eq!(watched.interrupt(), Some(130));
}

#[test]
fn a_repeated_output_is_appended_in_a_pipe() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", "t"]);
    let mut command = command(&command_line, &["topic", "list", "--watch", "0.1", "-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.take(3) {
        let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(row["topic"], "t");
    }
    // The reader is gone.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_watched_cluster_may_become_unreachable_but_must_be_reachable_at_first() {
    let mut command_line = CommandLine::new();
    let (code, words) =
        command_line.failure(&["cluster", "status", "--watch", "9", "-b", "127.0.0.1:1"]);
    assert!(code == 3 && words.contains("127.0.0.1:1"), "{words}");
    assert_eq!(command_line.failure(&["topic", "list", "--watch", "0"]).0, 2);
    assert_eq!(command_line.failure(&["group", "describe", "g", "--watch", "1"]).0, 5);
    let mut command = command_line.command(&["cluster", "status", "--watch", "0.1"]);
    // Long, so that the outage ends before a request gives up.
    command.args(["-X", "default.api.timeout.ms=30000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(answers.next().unwrap().unwrap().starts_with("CLUSTER"));
    command_line.stop();
    let mut complaints = BufReader::new(child.stderr.take().unwrap()).lines();
    let words = complaints.next().unwrap().unwrap();
    assert!(words.starts_with("streamlog: no broker can be reached"), "{words}");
    command_line.restart();
    let words = complaints.next().unwrap().unwrap();
    assert!(words.starts_with("streamlog: reconnected to "), "{words}");
    // The first output is read; the pipe holds all later ones.
    assert_eq!(
        answers
            .by_ref()
            .filter(|line| { line.as_ref().unwrap().starts_with("CLUSTER") })
            .take(2)
            .count(),
        2
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
