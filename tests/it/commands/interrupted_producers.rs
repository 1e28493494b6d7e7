//! Ctrl-C of `streamlog produce`: whatever it has taken from its input is stored or reported.

use std::fs::{self, File};
use std::io::{PipeReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::behind_a_gate::Gate;
use super::interrupting::{PATIENCE, ended};
use super::on_a_cluster::CommandLine;
use crate::support::TOPIC;

/// Size of each line of the pipe, with its end.
const LINE: usize = 100;

/// A pipe that a thread keeps full of lines.
struct FullPipe {
    ours: PipeReader,
    written: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    writer: JoinHandle<()>,
}

impl FullPipe {
    /// Starts the thread, with `command` as a reader of the pipe.
    fn into(command: &mut Command) -> Self {
        let (ours, mut theirs) = std::io::pipe().unwrap();
        command.stdin(ours.try_clone().unwrap());
        let (written, is_over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (count, end) = (Arc::clone(&written), Arc::clone(&is_over));
        let line = [&[b'x'; LINE - 1][..], b"\n"].concat();
        let writer = thread::spawn(move || {
            while !end.load(Ordering::Acquire) {
                theirs.write_all(&line).unwrap();
                count.fetch_add(LINE, Ordering::AcqRel);
            }
        });
        Self { ours, written, is_over, writer }
    }

    /// Waits until this number of bytes was written.
    fn wait_for(&self, bytes: usize) {
        wait_until("nobody reads the pipe", || self.written.load(Ordering::Acquire) >= bytes);
    }

    /// The number of lines that were taken by the command, after its end.
    fn taken(mut self) -> usize {
        self.is_over.store(true, Ordering::Release);
        let mut rest = Vec::new();
        self.ours.read_to_end(&mut rest).unwrap();
        self.writer.join().unwrap();
        (self.written.load(Ordering::Acquire) - rest.len()) / LINE
    }
}

fn wait_until(or: &str, is_true: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "{or}");
        thread::yield_now();
    }
}

/// Presses Ctrl-C. Returns the exit code and standard error.
fn interrupt(mut child: Child) -> (Option<i32>, String) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let code = ended(&mut child);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (code, said)
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The complaint about records that are not delivered.
fn complaint(delivered: usize, taken: usize) -> String {
    let other = taken - delivered;
    format!(
        "streamlog: Ctrl-C: {delivered} of {taken} records were delivered; the other {other} may \
         not be stored\n"
    )
}

/// The number of records in a topic of one partition.
fn stored(command_line: &CommandLine, topic: &str) -> usize {
    let end = command_line.rows(&["topic", "offsets", topic])[0]["end_offset"].as_u64();
    end.unwrap().try_into().unwrap()
}

/// Returns true if the process has this file open.
fn has_open(process: u32, path: &Path) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let mut links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.any(|link| link == path)
}

#[test]
fn lines_taken_from_a_pipe_are_stored_or_reported() {
    let command_line = CommandLine::new();
    for round in 1..=6 {
        let topic = format!("t{round}");
        command_line.text(&["topic", "create", &topic, "-p", "1"]);
        let mut command = command_line.command(&["produce", &topic]);
        let pipe = FullPipe::into(&mut command);
        let child = spawn(&mut command);
        drop(command);
        pipe.wait_for(round << 19);
        let (code, said) = interrupt(child);
        let taken = pipe.taken();
        let stored = stored(&command_line, &topic);
        assert_eq!(code, Some(130), "{said}");
        if said.is_empty() {
            assert_eq!(stored, taken, "records are missing, and nothing was said");
        } else {
            // Of the records without an acknowledgement, any number may be stored.
            let is_told = |delivered| said == complaint(delivered, taken);
            assert!((0..=stored).any(is_told), "{said}{taken} taken, {stored} stored");
        }
    }
}

#[test]
fn lines_without_room_in_the_buffer_are_reported() {
    let (_broker, address) = Gate::KeepsSilent.with_broker();
    for output in ["text", "json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
        command.args(["produce", TOPIC, "-o", output, "-b", &address.to_string()]);
        command.args(["-X", "buffer.memory=65536", "-X", "batch.size=16384"]);
        command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
        let pipe = FullPipe::into(&mut command);
        let child = spawn(&mut command);
        drop(command);
        // More than the pipe holds, so that the command has taken lines.
        pipe.wait_for(100 << 10);
        let (code, said) = interrupt(child);
        assert_eq!((code, said), (Some(130), complaint(0, pipe.taken())), "{output}");
    }
}

#[test]
fn a_producer_of_files_is_interrupted_while_it_waits_for_a_named_pipe() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", TOPIC, "-p", "1"]);
    let dir = tempfile::tempdir().unwrap();
    let (sound, fifo) = (dir.path().join("sound"), dir.path().join("fifo"));
    fs::write(&sound, "whole").unwrap();
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    for (round, is_begun) in [false, true].into_iter().enumerate() {
        let mut command = command_line.command(&["produce", TOPIC]);
        for file in [&sound, &fifo, &sound] {
            command.arg("--file").arg(file);
        }
        let child = spawn(&mut command);
        wait_until("the pipe is not opened", || is_begun || has_open(child.id(), &fifo));
        let writer = is_begun.then(|| {
            // This waits for the reader.
            let mut writer = File::options().write(true).open(&fifo).unwrap();
            writer.write_all(b"half").unwrap();
            writer
        });
        wait_until("the first is not sent", || stored(&command_line, TOPIC) > round);
        assert_eq!(interrupt(child), (Some(130), complaint(1, 3)), "begun: {is_begun}");
        drop(writer);
    }
    let values = command_line.text(&["consume", TOPIC, "-e"]);
    assert_eq!(values, "whole\nwhole\n", "a part of a file was sent");
}

#[test]
fn a_producer_of_lines_is_interrupted_while_it_waits_for_a_named_pipe() {
    let command_line = CommandLine::new();
    command_line.text(&["topic", "create", TOPIC, "-p", "1"]);
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let mut command = command_line.command(&["produce", TOPIC, "-l"]);
    let child = spawn(command.arg(&fifo));
    wait_until("the pipe is not opened", || has_open(child.id(), &fifo));
    assert_eq!(interrupt(child), (Some(130), String::new()));
}
