//! A running broker as a value: several may live in one process, and none ends its host.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

use crate::broker::connection::{Admission, Shard, accept, descriptors_for_connections};
use crate::broker::context::Shared;
use crate::broker::core::{Engine, Inside, bind, control_runtime};
use crate::broker::{BrokerConfig, BrokerError};
use crate::io::{Clock, Disk, SystemClock, SystemDisk, open_file_limit};

/// A broker that answers until it is stopped or its disk fails.
///
/// ```no_run
/// use streamlog::broker::{Broker, BrokerConfig, Listener};
///
/// let listeners = Listener::alone("127.0.0.1", 0);
/// let broker = Broker::start(BrokerConfig { listeners, ..BrokerConfig::default() })?;
/// println!("clients may connect to {}", broker.address());
/// broker.stop()?;
/// # Ok::<(), streamlog::broker::BrokerError>(())
/// ```
pub struct Broker {
    shards: Vec<JoinHandle<()>>,
    engine: Engine,
}

impl Broker {
    /// Starts a broker on this machine's files and clocks, and returns once it answers.
    ///
    /// # Errors
    /// When the address cannot be listened on, or the data directory not be used.
    pub fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk::default());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self::start_on(config, &disk, &clock)
    }

    /// Starts a broker on the given disk and clock.
    ///
    /// # Errors
    /// As [`Broker::start`].
    pub fn start_on(
        config: BrokerConfig,
        disk: &Arc<dyn Disk>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, BrokerError> {
        let runtime = control_runtime()?;
        let (sockets, listeners) = bind(&config, &runtime)?;
        let engine = Engine::start_behind(listeners, config, (disk, clock), runtime)?;
        let shared = engine.shared();
        let shards = start_shards(shared)?;
        let queues: Vec<_> = shards.iter().map(|shard| shard.queue.clone()).collect();
        warn_of_few_descriptors(&shared.config);
        let admission = Arc::new(Admission::new(shared.logs.data.open_files().clone()));
        for socket in sockets {
            let admission = Arc::clone(&admission);
            shared.control.start(accept(socket, queues.clone(), admission, Arc::clone(shared)));
        }
        let shards = shards.into_iter().map(|shard| shard.thread).collect();
        Ok(Self { shards, engine })
    }

    /// Where its first listener is; with port 0 asked for, the port it got.
    pub fn address(&self) -> SocketAddr {
        self.engine.shared().listeners.first()
    }

    /// Where all its listeners are, each by its name, in the order of the configuration.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let addresses = self.engine.shared().listeners.addresses();
        addresses.map(|(name, address)| (name.to_owned(), address)).collect()
    }

    /// Cancelled when the broker stops, whether it was told to or its disk failed.
    pub fn stopping(&self) -> CancellationToken {
        self.engine.shared().stopping.clone()
    }

    /// The way in for callers in this process.
    pub(crate) fn inside(&self) -> Inside {
        self.engine.inside()
    }

    /// Stops: nothing more is accepted, everything is flushed, the next start needs no recovery.
    ///
    /// # Errors
    /// [`BrokerError::Failed`] when the disk had failed, and the errors of the last flush.
    pub fn stop(mut self) -> Result<(), BrokerError> {
        self.tear_down()
    }

    fn tear_down(&mut self) -> Result<(), BrokerError> {
        self.engine.shared().stopping.cancel();
        for thread in self.shards.drain(..) {
            join(thread);
        }
        self.engine.stop()
    }
}

/// A broker that is dropped stops as if it had been told to; nobody hears how that went.
impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.tear_down();
    }
}

/// A thread of ours ends by a panic only through a broken invariant, which has been reported.
fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a thread of the broker ended by a panic");
    }
}

/// Says so when there cannot be as many connections as the settings allow.
fn warn_of_few_descriptors(config: &BrokerConfig) {
    let Ok(limit) = open_file_limit() else { return };
    let room = descriptors_for_connections(limit);
    if usize::try_from(room).is_ok_and(|room| room < config.connections_max) {
        let max = config.connections_max;
        tracing::warn!(
            "max.connections is {max}, but the limit of open files, {limit}, leaves room for fewer \
             than {room}: connections beyond are refused, for files need descriptors too"
        );
    }
}

fn start_shards(shared: &Arc<Shared>) -> Result<Vec<Shard>, BrokerError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = if shared.config.shards == 0 { cores } else { shared.config.shards };
    let start = |index| Shard::start(index, Arc::clone(shared)).map_err(BrokerError::System);
    (0..count).map(start).collect()
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("address", &self.address()).finish_non_exhaustive()
    }
}
