//! `streamlog broker`: runs a broker until a signal or a failing disk ends it.
//!
//! Standard output gets the single line `ready HOST:PORT` once the broker accepts connections; the
//! log goes to standard error. SIGTERM and SIGINT stop it cleanly with exit code 0; SIGINT while it
//! waits for ZooKeeper ends it with 130.
//!
//! With `--nodes N` it is a cluster of N brokers in this process, and the line lists all addresses.
//!
//! A broker on ZooKeeper starts the process `streamlog guard`, unless
//! `zookeeper.session.guard` is false. The guard ends the broker's session once the broker's
//! process has ended.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::Builder;

use clap::Args;
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::broker::{
    Broker, BrokerConfig, BrokerError, EngineError, Guard, SessionObserver, await_broker,
    end_session,
};
use crate::cli::progress::is_watched;
use crate::cli::{Exit, Program, report, setting};
use crate::cluster::{ClusterError, LocalCluster};
use crate::config::ConfigError;
use crate::io::{SystemClock, ignore_file_size_signal};

/// The name of the thread that starts the broker.
const START: &str = "streamlog-start";

/// The name of the hidden subcommand that runs the guard process.
const GUARD: &str = "guard";

/// The pending outcome of a start.
type Starting<T = Broker> = oneshot::Receiver<Result<T, BrokerError>>;

/// Runs a broker.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Address to listen on; port 0 picks a free port [default: 127.0.0.1:9092]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address to advertise to clients; by default the address that each client connected to
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Directory for records and metadata [default: streamlog-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Id of this broker [default: 1]
    #[arg(long, value_name = "N")]
    broker_id: Option<String>,
    /// ZooKeeper ensemble for the metadata, instead of the data directory
    #[arg(long, value_name = "HOST:PORT,...[/CHROOT]")]
    zookeeper: Option<String>,
    /// Run a cluster of N brokers in this process, on free ports, with everything in memory
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["listen", "advertise", "data_dir", "broker_id", "zookeeper"]
    )]
    nodes: Option<usize>,
    /// Configuration file: TOML, or Kafka's format if the name ends in .properties
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A single setting; overrides the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Log filter, as LEVEL or TARGET=LEVEL,...
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,
}

impl Options {
    /// Runs the broker.
    pub(crate) fn run(self, program: &Program) -> Exit {
        start_logging(&self.log);
        if let Some(nodes) = self.nodes {
            return self.run_nodes(nodes);
        }
        let config = match self.config() {
            Ok(config) => config,
            Err(error) => {
                report(&error);
                return Exit::Usage;
            }
        };
        serve(config, program).unwrap_or_else(|error| {
            report(&error);
            Exit::Failed
        })
    }

    /// Runs a cluster of several brokers.
    fn run_nodes(self, nodes: usize) -> Exit {
        let served = self.sources().map_err(ClusterError::from).and_then(|sources| {
            let rows = sources.iter().flatten().map(|(key, value)| (&**key, &**value));
            serve_nodes(nodes, &rows.collect::<Vec<_>>())
        });
        served.unwrap_or_else(|error| {
            report(&error);
            match error {
                ClusterError::Config(_) | ClusterError::NodeCount { .. } => Exit::Usage,
                _ => Exit::Failed,
            }
        })
    }

    /// Combines the settings of all sources.
    fn config(&self) -> Result<BrokerConfig, ConfigError> {
        let sources = self.sources()?;
        let mut config = BrokerConfig::default();
        let sources = sources.iter();
        config
            .set_sources(sources.map(|rows| rows.iter().map(|(k, v)| (k.as_str(), v.as_str()))))?;
        Ok(config)
    }

    /// The settings of the file, of `--set`, and of the other options, in rising precedence.
    fn sources(&self) -> Result<[Vec<(String, String)>; 3], ConfigError> {
        let file = match &self.config {
            Some(path) => BrokerConfig::read_file(path)?,
            None => Vec::new(),
        };
        let sources = [file, self.set_rows()?, self.option_rows()];
        for source in &sources {
            for (row, (key, _)) in source.iter().enumerate() {
                if let Some(reason) = BrokerConfig::ignored(source, row) {
                    tracing::info!("{key} is ignored: {reason}");
                }
            }
        }
        Ok(sources)
    }

    /// The settings given by `--set`.
    fn set_rows(&self) -> Result<Vec<(String, String)>, ConfigError> {
        self.settings.iter().map(|row| setting::pair(row, "--set KEY=VALUE")).collect()
    }

    /// The settings given by options other than `--set`.
    fn option_rows(&self) -> Vec<(String, String)> {
        let options = [
            ("listeners", &self.listen),
            ("advertised.listeners", &self.advertise),
            ("log.dirs", &self.data_dir),
            ("broker.id", &self.broker_id),
            ("zookeeper.connect", &self.zookeeper),
        ];
        let given = options.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        given.map(|(key, value)| (key.to_owned(), value.clone())).collect()
    }
}

/// Runs a broker until a signal or a failure.
fn serve(config: BrokerConfig, program: &Program) -> Result<Exit, BrokerError> {
    // With the signal ignored, exceeding the file size limit (`ulimit -f`) returns an error, which
    // is handled like a full disk.
    ignore_file_size_signal().map_err(BrokerError::System)?;
    let (runtime, mut signals) = Signals::caught().map_err(BrokerError::System)?;
    let interrupted = CancellationToken::new();
    let guard = start_guard(&config, program);
    let mut starting = start(config, &interrupted, guard)?;
    let (started, early) = runtime.block_on(async {
        tokio::select! {
            started = &mut starting => (started, None),
            exit = signals.next() => {
                interrupted.cancel();
                (starting.await, Some(exit))
            }
        }
    });
    let broker = match (outcome(started), early) {
        (Err(BrokerError::Interrupted), Some(exit)) => return Ok(exit),
        (started, _) => started?,
    };
    announce(broker.address());
    let stopping = broker.stopping();
    if early.is_none() {
        runtime.block_on(async {
            tokio::select! {
                _ = signals.next() => {}
                () = stopping.cancelled() => {}
            }
        });
    }
    broker.stop().map(|()| Exit::Done)
}

/// Runs a cluster until a signal; a broker that fails does not end the others.
fn serve_nodes(nodes: usize, settings: &[(&str, &str)]) -> Result<Exit, ClusterError> {
    let (runtime, mut signals) = Signals::caught()?;
    let cluster = LocalCluster::start_with(nodes, settings)?;
    announce(cluster.bootstrap());
    runtime.block_on(signals.next());
    Ok(Exit::Done)
}

/// The signals that end a broker.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// The signals from now on, and the runtime that waits for them.
    fn caught() -> io::Result<(Runtime, Self)> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        drop(inside);
        Ok((runtime, Self { terminate, interrupt }))
    }

    /// Waits for the next signal.
    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.terminate.recv() => {
                tracing::info!("SIGTERM: stopping");
                Exit::Done
            }
            _ = self.interrupt.recv() => {
                tracing::info!("interrupted: stopping");
                Exit::Interrupted
            }
        }
    }
}

/// Waits for the end of the broker that has started this process, and ends its session. Prints
/// nothing, since nobody would read its output.
pub(crate) fn guard() -> Exit {
    let ended = await_broker(io::stdin().lock()).and_then(|ticket| match ticket {
        Some(ticket) => end_session(&ticket, Arc::new(SystemClock)),
        None => Ok(()),
    });
    if ended.is_ok() { Exit::Done } else { Exit::Failed }
}

/// Starts a broker on a thread of its own, which may wait for ZooKeeper until `interrupted`.
fn start(
    config: BrokerConfig,
    interrupted: &CancellationToken,
    guard: Option<Arc<Guard>>,
) -> Result<Starting, BrokerError> {
    let interrupted = interrupted.clone();
    let guard = guard.map(|guard| guard as Arc<dyn SessionObserver>);
    on_start_thread(move || Broker::start_unless(config, &interrupted, guard.as_ref()))
}

/// Starts the process that ends this broker's session with ZooKeeper if the broker crashes.
fn start_guard(config: &BrokerConfig, program: &Program) -> Option<Arc<Guard>> {
    if config.zookeeper.address.is_none() || !config.zookeeper.guard {
        return None;
    }
    let started = Guard::start(&mut program.command(GUARD));
    let report = |error: &io::Error| {
        tracing::warn!(
            "there is no guard of this process ({error}): should the broker crash, others are \
             elected after zookeeper.session.timeout.ms"
        );
    };
    started.inspect_err(report).ok().map(Arc::new)
}

fn on_start_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BrokerError> + Send + 'static,
) -> Result<Starting<T>, BrokerError> {
    let (send, started) = oneshot::channel();
    let run = move || {
        // Sending cannot fail: the receiver waits for the outcome.
        let _ = send.send(work());
    };
    Builder::new().name(START.to_owned()).spawn(run).map_err(BrokerError::System)?;
    Ok(started)
}

/// The outcome of a start; an error if the thread that sends it has panicked.
fn outcome<T>(started: Result<Result<T, BrokerError>, RecvError>) -> Result<T, BrokerError> {
    started.unwrap_or_else(|_panicked| {
        let reason = format!("the thread '{START}' has panicked");
        Err(EngineError::Failed { reason }.into())
    })
}

/// Prints the ready line on standard output, for scripts that wait for it.
fn announce(address: impl Display) {
    let mut out = io::stdout().lock();
    // A closed pipe must not stop the broker.
    let _ = writeln!(out, "ready {address}").and_then(|()| out.flush());
}

fn start_logging(filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_watched());
    // A process with its own logging keeps it.
    let _ = log.with_writer(io::stderr).with_target(false).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_panics_is_a_failure_and_no_interruption() {
        let broken = || -> Result<(), BrokerError> { panic!("broken by the test") };
        let error = outcome(on_start_thread(broken).unwrap().blocking_recv()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the engine stopped: the thread 'streamlog-start' has panicked"
        );
    }
}
