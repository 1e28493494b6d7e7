//! A broker as a process of its own: started, stopped, killed, started again on the same data.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use streamlog::wire::ErrorCode;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use super::{Connection, TOPIC};

/// Nothing here waits longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running broker process; killed when dropped.
pub(crate) struct BrokerProcess {
    child: Child,
    log: PathBuf,
    address: SocketAddr,
}

impl BrokerProcess {
    /// Starts a broker and waits until it is ready. Its log goes on in the file beside its data.
    ///
    /// # Errors
    /// What it has logged, when it ends instead.
    pub(crate) fn start(
        data: &Path,
        settings: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, String> {
        let log = data.with_extension("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
        command.args(["broker", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let stderr = File::options().create(true).append(true).open(&log).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        prepare(&mut command);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        // Ends at once if the process does.
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.strip_prefix("ready ") else {
            child.wait().unwrap();
            return Err(fs::read_to_string(&log).unwrap());
        };
        Ok(Self { child, log, address: address.trim().parse().unwrap() })
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address).unwrap()
    }

    /// Makes a topic of so many partitions as a topic has by default, if it is not there.
    pub(crate) fn make_topic(&self, name: &str) {
        let topic = RequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        let response = self.connect().call(9, &request).unwrap();
        assert_eq!(response.topics[0].error_code, ErrorCode::None);
    }

    /// Makes the test's topic if it is not there.
    pub(crate) fn make_test_topic(&self) {
        self.make_topic(TOPIC);
    }

    /// What it, and those before it on the same data, have logged.
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

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
