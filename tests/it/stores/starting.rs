//! Brokers that start while no ZooKeeper answers.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::Faults;

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until this is so.
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a broker whose log goes to `log`.
fn start(dir: &Path, zookeeper: &str, log: &Path, prepare: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["broker", "--listen", "127.0.0.1:0", "--zookeeper", zookeeper, "--data-dir"]);
    command.arg(dir.join("data")).stdin(Stdio::null()).stdout(Stdio::null());
    prepare(command.stderr(File::create(log).unwrap()));
    command.spawn().unwrap()
}

/// Sends a signal, and returns the exit code.
fn end(child: &mut Child, signal: Signal) -> Option<i32> {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it goes on after {signal}");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_broker_that_waits_for_zookeeper_says_why_and_ends_when_asked() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 0)] {
        let dir = TempDir::new().unwrap();
        let log = dir.path().join("log");
        let mut broker = start(dir.path(), "127.0.0.1:1/streamlog", &log, |_| {});
        let attempts = || {
            let log = fs::read_to_string(&log).unwrap();
            log.lines()
                .filter(|line| {
                    ["cannot be reached", "127.0.0.1:1", "refused"]
                        .iter()
                        .all(|word| line.contains(word))
                })
                .count()
        };
        await_that("it does not say why, and try again", || attempts() >= 2);
        assert_eq!(end(&mut broker, signal), Some(code));
    }
}

#[test]
fn a_broker_that_waits_for_the_address_of_zookeeper_ends_when_asked() {
    let (dir, faults) = (TempDir::new().unwrap(), Faults::new());
    faults.set(&["resolve /zookeeper.example 600000ms"]);
    let log = dir.path().join("log");
    let mut broker =
        start(dir.path(), "zookeeper.example:2181", &log, |command| faults.rule(command));
    await_that("it does not look for the address", || !faults.struck().is_empty());
    assert_eq!(end(&mut broker, Signal::SIGINT), Some(130));
}
