//! A broker as a separate process: started, stopped, killed, started again on the same data.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use streamlog::wire::ErrorCode;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use super::{Connection, TOPIC};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that stands still until this is dropped.
pub(crate) struct Pause(Pid);

impl Pause {
    /// Stops a process.
    pub(super) fn begin(process: u32) -> Self {
        let process = Pid::from_raw(process.cast_signed());
        kill(process, Signal::SIGSTOP).unwrap();
        Self(process)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill(self.0, Signal::SIGCONT);
    }
}

/// A running broker process; killed when dropped.
pub(crate) struct BrokerProcess {
    child: Child,
    log: PathBuf,
    address: SocketAddr,
}

impl BrokerProcess {
    /// Starts a broker and waits until it is ready. Its log is appended to a file beside its data.
    ///
    /// # Errors
    /// Its log, if it ends instead.
    ///
    /// # Panics
    /// If it does neither.
    pub(crate) fn start(
        data: &Path,
        settings: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, String> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), data, settings, prepare)
    }

    /// As [`BrokerProcess::start`], at a certain address.
    pub(crate) fn start_at(
        address: SocketAddr,
        data: &Path,
        settings: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, String> {
        let log = data.with_extension("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
        command.args(["broker", "--data-dir"]).arg(data);
        if !settings.iter().any(|setting| setting.starts_with("listeners=")) {
            command.args(["--listen", &address.to_string()]);
        }
        for setting in settings {
            command.args(["--set", setting]);
        }
        let stderr = File::options().create(true).append(true).open(&log).unwrap();
        prepare(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().unwrap();
        let line = first_line(&mut child);
        let Some(address) = line.strip_prefix("ready ") else {
            child.wait().unwrap();
            return Err(fs::read_to_string(&log).unwrap());
        };
        Ok(Self { child, log, address: address.trim().parse().unwrap() })
    }

    /// Limits the files and sockets that a broker, which is yet to be started, has open at once.
    pub(crate) fn limit_descriptors(command: &mut Command, limit: u32) {
        set_limit(command, "-n", limit);
    }

    /// Limits the size of each file that a broker, which is yet to be started, writes, in blocks of
    /// 512 bytes.
    pub(crate) fn limit_file_size(command: &mut Command, blocks: u32) {
        set_limit(command, "-f", blocks);
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the process without ending it, until the returned value is dropped.
    pub(crate) fn pause(&self) -> Pause {
        Pause::begin(self.child.id())
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address).unwrap()
    }

    /// A new connection, unless the process has ended.
    pub(crate) fn connect_if_up(&self) -> Option<Connection> {
        Connection::open(self.address).ok()
    }

    /// Creates a topic with the default number of partitions, if it does not exist.
    pub(crate) fn make_topic(&self, name: &str) {
        let topic = RequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        let response = self.connect().call(9, &request).unwrap();
        assert_eq!(response.topics[0].error_code, ErrorCode::None);
    }

    /// Creates the test's topic if it does not exist.
    pub(crate) fn make_test_topic(&self) {
        self.make_topic(TOPIC);
    }

    /// Bytes of its anonymous memory.
    pub(crate) fn anonymous_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kib: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
        kib * 1024
    }

    /// The log of this process, and of those before it on the same data.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the log says this.
    pub(crate) fn await_log(&self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log().contains(words) {
            assert!(Instant::now() < deadline, "never said '{words}':\n{}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks it to stop, and waits for its end.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let id = Pid::from_raw(self.child.id().cast_signed());
        kill(id, Signal::SIGTERM).unwrap();
        self.wait()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.wait()
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it goes on:\n{}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the first line that a process prints; nothing if it ends without any.
fn first_line(child: &mut Child) -> String {
    let stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        // The receiver is gone if that took too long.
        let _ = sender.send(line);
    });
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|error| {
        let _ = child.kill();
        panic!("the broker neither starts nor ends: {error}");
    })
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `command` under a resource limit.
fn set_limit(command: &mut Command, option: &str, limit: u32) {
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit {option} {limit} && exec \"$0\" \"$@\""));
    limited.arg(command.get_program()).args(command.get_args());
    *command = limited;
}
