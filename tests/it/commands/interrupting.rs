//! Ctrl-C under load: every command that loops ends with exit code 130 and whole lines.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use streamlog::record::{BatchBuilder, BatchSettings, Compression, Compressor};
use streamlog::types::Timestamp;

use super::on_a_cluster::CommandLine;
use crate::support::{Connection, TOPIC};

const RECORDS: usize = 3_000_000;
const BATCH: usize = 30_000;

/// Size of each value, and of its line.
const VALUE: usize = 100;
const LINE: usize = VALUE + 1;

/// The longest wait in these tests.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Far more than the 50 ms on an idle machine, and far less than reading a topic takes.
const SOON: Duration = Duration::from_secs(2);

/// The processor time, in hundredths of a second, that shows a command at work.
const BUSY: u64 = 15;

/// Destinations of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    File,
    Pipe,
    Terminal,
}

impl Sink {
    /// The end of each line as it is read from the other end.
    fn line_end(self) -> &'static [u8] {
        if self == Self::Terminal { b"\r\n" } else { b"\n" }
    }
}

/// A running command, with a counter of its output.
struct Running {
    child: Child,
    reader: Option<JoinHandle<Vec<u8>>>,
    _dir: tempfile::TempDir,
    path: std::path::PathBuf,
}

/// The result of a command.
struct Ended {
    code: Option<i32>,
    took: Duration,
    written: Vec<u8>,
    said: String,
}

/// A broker with a topic that takes many seconds to read.
fn loaded() -> CommandLine {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", TOPIC, "-p", "1"]);
    let mut builder = BatchBuilder::new();
    for _ in 0..BATCH {
        let time = Timestamp::from_millis(1_700_000_000_000);
        builder.push(time, None, Some(&[b'x'; VALUE]), &[]).unwrap();
    }
    let mut compressor = Compressor::new(Compression::Lz4, None).unwrap();
    let batch = builder.build(&BatchSettings::default(), &mut compressor).unwrap();
    let mut connection = Connection::open(command_line.address().parse().unwrap()).unwrap();
    for _ in 0..RECORDS / BATCH {
        connection.produce(batch.clone(), 1).unwrap().unwrap();
    }
    command_line
}

impl Running {
    fn start(mut command: Command, sink: Sink) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("answer");
        let mut reader = None;
        command.stderr(Stdio::piped());
        match sink {
            Sink::File => {
                command.stdout(File::create(&path).unwrap());
            }
            Sink::Pipe => {
                let (ours, theirs) = std::io::pipe().unwrap();
                command.stdout(theirs);
                reader = Some(collect(ours.into()));
            }
            Sink::Terminal => {
                let pty = nix::pty::openpty(None, None).unwrap();
                command.stdout(pty.slave);
                reader = Some(collect(pty.master));
            }
        }
        let child = command.spawn().unwrap();
        // Our copies of the other ends are closed with it.
        drop(command);
        Self { child, reader, _dir: dir, path }
    }

    /// Waits until the command is busy.
    fn once_busy(self) -> Self {
        let deadline = Instant::now() + PATIENCE;
        while self.ticks() < BUSY {
            assert!(Instant::now() < deadline, "the command is idle");
            thread::yield_now();
        }
        self
    }

    /// The processor time used.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name in brackets may contain anything.
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    fn press_ctrl_c(&self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    }

    /// Presses Ctrl-C once.
    fn interrupt(mut self) -> Ended {
        let pressed = Instant::now();
        self.press_ctrl_c();
        let code = ended(&mut self.child);
        let took = pressed.elapsed();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let written = match self.reader.take() {
            Some(reader) => reader.join().unwrap(),
            None => fs::read(&self.path).unwrap(),
        };
        Ended { code, took, written, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Asserts that the command was interrupted before its end; returns the time this took.
    fn check(&self, what: &dyn std::fmt::Debug) -> Duration {
        assert_eq!((self.code, self.said.as_str()), (Some(130), ""), "{what:?}");
        let lines = self.written.len() / LINE;
        assert!(lines < RECORDS / 2, "{what:?} went on for {lines} lines");
        self.took
    }
}

/// The exit code of a command that ends.
pub(super) fn ended(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the command does not end");
        }
        thread::yield_now();
    }
}

/// Waits until a pipe or a terminal that nobody reads has no room left.
fn wait_until_full(theirs: &OwnedFd) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut watched = [PollFd::new(theirs.as_fd(), PollFlags::POLLOUT)];
        if poll(&mut watched, PollTimeout::ZERO).unwrap() == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "the command does not fill its output");
        thread::yield_now();
    }
}

fn collect(ours: OwnedFd) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        // Reading from a terminal whose other end is closed fails.
        let _ = File::from(ours).read_to_end(&mut all);
        all
    })
}

/// Returns true if `written` consists of whole lines, as written to this sink.
fn is_whole(written: &[u8], sink: Sink) -> bool {
    let end = sink.line_end();
    written.len().is_multiple_of(VALUE + end.len())
        && (written.is_empty() || written.ends_with(end))
}

fn assert_soon(what: &dyn std::fmt::Debug, mut times: Vec<Duration>) {
    times.sort();
    let median = times[times.len() / 2];
    eprintln!("{what:?}: {median:?} of {times:?}");
    assert!(median < SOON, "{what:?}: {times:?}");
}

#[test]
fn readers_end_on_ctrl_c_with_whole_lines_for_any_output() {
    let command_line = loaded();
    let verbs: [&[&str]; 4] = [
        &["consume", TOPIC],
        &["consume", TOPIC, "--no-follow"],
        &["consume", TOPIC, "--group", "g"],
        &["tail", TOPIC, "-f", "-n", "400000"],
    ];
    for verb in verbs {
        let mut times = Vec::new();
        for sink in [Sink::File, Sink::Pipe, Sink::Terminal] {
            let ended = Running::start(command_line.command(verb), sink).once_busy().interrupt();
            times.push(ended.check(&(verb, sink)));
            assert!(is_whole(&ended.written, sink), "{verb:?} {sink:?}");
        }
        assert_soon(&verb, times);
    }
    let group = command_line.rows(&["group", "describe", "g"]);
    assert_eq!(group[0]["client"], serde_json::Value::Null, "the member left its group: {group:?}");
}

#[test]
fn rows_in_any_format_are_whole_after_ctrl_c() {
    let command_line = loaded();
    let verb = ["consume", TOPIC, "-o", "json"];
    let ended = Running::start(command_line.command(&verb), Sink::Pipe).once_busy().interrupt();
    ended.check(&verb);
    let text = String::from_utf8(ended.written).unwrap();
    assert!(text.ends_with("}\n"), "{:?}", &text[text.len() - 50..]);
}

#[test]
fn ctrl_c_ends_a_command_whose_output_nobody_reads() {
    let command_line = loaded();
    for sink in [Sink::Pipe, Sink::Terminal] {
        let (ours, theirs): (OwnedFd, OwnedFd) = if sink == Sink::Terminal {
            let pty = nix::pty::openpty(None, None).unwrap();
            (pty.master, pty.slave)
        } else {
            let (ours, theirs) = std::io::pipe().unwrap();
            (ours.into(), theirs.into())
        };
        let mut command = command_line.command(&["consume", TOPIC, "--group", "g"]);
        command.stdout(theirs.try_clone().unwrap()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(command);
        wait_until_full(&theirs);
        drop(theirs);
        kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        assert_eq!(ended(&mut child), Some(130), "{sink:?}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "{sink:?}");
        // Only now, after the command's end, is anything read.
        let written = collect(ours).join().unwrap();
        let line = [&[b'x'; VALUE], sink.line_end()].concat();
        assert!(written.len() > line.len(), "{sink:?}: {} bytes", written.len());
        assert!(written.chunks(line.len()).all(|part| line.starts_with(part)), "{sink:?}");
        // A terminal may have room for a part of a line, which is not completed without a reader.
        assert!(sink == Sink::Terminal || is_whole(&written, sink), "{sink:?}");
    }
}

#[test]
fn benchmarks_and_producers_end_on_ctrl_c() {
    let command_line = loaded();
    command_line.text(&["topic", "create", "other", "-p", "1"]);
    let verbs: [&[&str]; 3] = [
        &["bench", "consume", TOPIC],
        &["bench", "produce", "other", "-n", "1000000000"],
        &["bench", "latency", "other", "-n", "1000000000", "-r", "1000000"],
    ];
    for verb in verbs {
        let running = || Running::start(command_line.command(verb), Sink::Pipe).once_busy();
        let times = (0..3).map(|_| running().interrupt().check(&verb)).collect();
        assert_soon(&verb, times);
    }
    let mut command = command_line.command(&["produce", "other", "-o", "json"]);
    let mut running = Running::start(
        {
            command.stdin(Stdio::piped());
            command
        },
        Sink::Pipe,
    );
    let mut input = running.child.stdin.take().unwrap();
    let typist =
        thread::spawn(move || while input.write_all(&[b'y', b'\n'].repeat(9999)).is_ok() {});
    let ended = running.once_busy().interrupt();
    assert_eq!(ended.code, Some(130));
    assert!(ended.said.is_empty() || ended.said.contains("may not be stored"), "{}", ended.said);
    assert!(ended.written.is_empty() || ended.written.ends_with(b"}\n"));
    eprintln!("produce: {:?}", ended.took);
    typist.join().unwrap();
}

#[test]
fn commands_on_log_files_end_on_ctrl_c() {
    let command_line = loaded();
    let log = command_line.data().join(format!("{TOPIC}-0"));
    let segment = log.join("00000000000000000000.log");
    let dir = tempfile::tempdir().unwrap();
    // One file under many names takes time to read, and no disk space.
    for number in 0..300 {
        let log = dir.path().join(format!("{TOPIC}-{number}"));
        fs::create_dir(&log).unwrap();
        link_or_copy(&segment, &log.join("00000000000000000000.log"));
    }
    // The directory belongs to a broker, whose metadata journal is lost.
    let identity = "meta.properties";
    fs::copy(command_line.data().join(identity), dir.path().join(identity)).unwrap();
    let files: [(&str, &Path, &[&str]); 4] = [
        ("dump", &segment, &["--records"]),
        ("dump", &segment, &["--records", "-o", "json"]),
        ("verify", dir.path(), &[]),
        ("rebuild-metadata", dir.path(), &[]),
    ];
    for (verb, path, options) in files {
        let running = || {
            let mut command = command_line.command(&["log", verb]);
            command.arg(path).args(options);
            Running::start(command, Sink::File).once_busy()
        };
        let mut times = Vec::new();
        for _ in 0..3 {
            let ended = running().interrupt();
            times.push(ended.check(&(verb, options)));
            assert!(ended.written.is_empty() || ended.written.ends_with(b"\n"), "{verb}");
        }
        assert_soon(&(verb, options), times);
    }
}

#[test]
fn a_batch_of_many_records_is_interrupted_by_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    let segment = dir.path().join("00000000000000000000.log");
    let mut builder = BatchBuilder::new();
    for _ in 0..RECORDS / 3 {
        builder.push(Timestamp::from_millis(1_700_000_000_000), None, Some(b"x"), &[]).unwrap();
    }
    let mut compressor = Compressor::new(Compression::Lz4, None).unwrap();
    let batch = builder.build(&BatchSettings::default(), &mut compressor).unwrap();
    fs::write(&segment, &batch).unwrap();
    for output in ["text", "json", "csv"] {
        let running = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
            command.args(["log", "dump", "--records", "-o", output]).arg(&segment);
            Running::start(command, Sink::File).once_busy()
        };
        let mut times = Vec::new();
        for _ in 0..3 {
            let ended = running().interrupt();
            times.push(ended.check(&output));
            assert!(ended.written.is_empty() || ended.written.ends_with(b"\n"), "{output}");
        }
        assert_soon(&output, times);
    }
}

#[test]
fn a_repeated_output_ends_on_ctrl_c_between_two_runs() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", TOPIC, "-p", "1"]);
    command_line.text(&["consume", TOPIC, "-e", "--group", "g"]);
    let verbs: [&[&str]; 8] = [
        &["topic", "list"],
        &["topic", "describe", TOPIC],
        &["topic", "offsets", TOPIC],
        &["group", "list"],
        &["group", "describe", "g"],
        &["group", "lag"],
        &["node", "list"],
        &["cluster", "status"],
    ];
    for verb in verbs {
        let mut command = command_line.command(&[verb, &["--watch", "3600"]].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // The first output has arrived.
        let mut first = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        let pressed = Instant::now();
        kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        assert_eq!(ended(&mut child), Some(130), "{verb:?}");
        assert_soon(&verb, vec![pressed.elapsed()]);
    }
}

fn link_or_copy(from: &Path, to: &Path) {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).unwrap();
    }
}
