//! A running broker as a value: several can run in one process, and none terminates its host.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::broker::connection::{Admission, Shard, accept, descriptors_for_connections};
use crate::broker::context::Shared;
use crate::broker::coordinator::forget_deleted_topics;
use crate::broker::listeners::bind;
use crate::broker::metadata_store::connect;
use crate::broker::{BrokerConfig, BrokerError};
use crate::config::ByteSize;
use crate::engine::{Engine, EngineHandle, EngineState, PartitionsListener, control_runtime};
#[cfg(feature = "internals")]
use crate::io::{Clock, Disk};
use crate::io::{SystemClock, SystemDisk, Worker, World, open_file_limit};
use crate::metadata::{SessionObserver, Store};
use crate::net::{Budget, Network};
use crate::replica_manager;

/// A broker that serves requests until it is stopped or its disk fails.
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
    shards: Vec<Worker>,
    engine: Engine,
    shared: Arc<Shared>,
    /// The runtimes of all tasks, each with a single thread.
    runtimes: Vec<Handle>,
}

/// The parts that a broker shares with other brokers in its process.
pub(crate) struct Surroundings {
    /// The broker's disk and clock.
    pub(crate) world: World,
    /// The metadata store that brokers of this process share, if they do. The one that the
    /// configuration names is not used then.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// The network that replaces the system's, if one does.
    pub(crate) network: Option<Arc<dyn Network>>,
}

impl Surroundings {
    /// The surroundings of a broker that shares nothing.
    fn of(world: World) -> Self {
        Self { world, store: None, network: None }
    }
}

impl Broker {
    /// Starts a broker on this machine's files and clocks, and returns once it accepts requests. If
    /// its metadata is in ZooKeeper, it waits until a server answers.
    ///
    /// # Errors
    /// If an address cannot be bound, or the data directory cannot be used.
    pub fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        Self::start_unless(config, &CancellationToken::new(), None)
    }

    /// Starts a broker like [`Broker::start`]. Cancelling `interrupted` ends the wait for the
    /// metadata store, and `observer` is told of each session with the store.
    ///
    /// # Errors
    /// The errors of [`Broker::start`], and `Interrupted`.
    pub(crate) fn start_unless(
        config: BrokerConfig,
        interrupted: &CancellationToken,
        observer: Option<&Arc<dyn SessionObserver>>,
    ) -> Result<Self, BrokerError> {
        let disk = Arc::new(SystemDisk::default());
        let world = World { disk, clock: Arc::new(SystemClock) };
        Self::launch(config, Surroundings::of(world), interrupted, observer)
    }

    /// Starts a broker of a cluster in this process.
    ///
    /// # Errors
    /// The errors of [`Broker::start`].
    pub(crate) fn start_in(
        config: BrokerConfig,
        surroundings: Surroundings,
    ) -> Result<Self, BrokerError> {
        Self::launch(config, surroundings, &CancellationToken::new(), None)
    }

    /// Starts a broker on the given disk and clock.
    ///
    /// # Errors
    /// The errors of [`Broker::start`].
    #[cfg(feature = "internals")]
    pub fn start_on(
        config: BrokerConfig,
        disk: &Arc<dyn Disk>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, BrokerError> {
        let world = World { disk: Arc::clone(disk), clock: Arc::clone(clock) };
        Self::launch(config, Surroundings::of(world), &CancellationToken::new(), None)
    }

    fn launch(
        config: BrokerConfig,
        surroundings: Surroundings,
        interrupted: &CancellationToken,
        observer: Option<&Arc<dyn SessionObserver>>,
    ) -> Result<Self, BrokerError> {
        let Surroundings { world, store, network } = surroundings;
        let runtime = control_runtime()?;
        let (sockets, listeners) = bind(&config.listeners, &config.advertised_listeners, &runtime)?;
        if config.zookeeper.address.is_some() {
            listeners.require_reachable()?;
        }
        let (engine, addresses) = (config.engine.clone(), listeners.registered());
        let store = match connect(&config.zookeeper, &world, &runtime, observer, interrupted) {
            Ok(connected) => store.or(connected),
            Err(error) => {
                // A thread may still resolve the name of a server, which can take minutes: do not
                // wait for it.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let engine = Engine::open(engine, addresses, &world, runtime, store)?;
        let (memory, frame_max) = (in_memory(config.request_memory), in_memory(config.frame_max));
        let memory = Budget::new(memory, frame_max);
        let shared = Arc::new(Shared::new(config, listeners, engine.state(), memory, network));
        let coordinators = Arc::clone(shared.coordinators());
        start_tasks(&shared, engine.state(), coordinators);
        let shards = start_shards(&shared)?;
        let queues: Vec<_> = shards.iter().map(|shard| shard.queue.clone()).collect();
        warn_of_few_descriptors(shared.config());
        let admission = Arc::new(Admission::new(shared.open_files().clone()));
        for (socket, listener) in sockets.into_iter().zip(shared.listeners().all()) {
            let admission = Arc::clone(&admission);
            let accepting =
                accept(socket, listener, queues.clone(), admission, Arc::clone(&shared));
            engine.state().control.start(accepting);
        }
        let mut runtimes = vec![engine.state().control.runtime().clone()];
        runtimes.extend(shards.iter().map(|shard| shard.runtime.clone()));
        let shards = shards.into_iter().map(|shard| shard.thread).collect();
        Ok(Self { shards, engine, shared, runtimes })
    }

    /// The address of the first listener, with the actual port if port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.shared.listeners().first()
    }

    /// The addresses of all listeners by name, in the order of the configuration.
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let addresses = self.shared.listeners().addresses();
        addresses.map(|(name, address)| (name.to_owned(), address)).collect()
    }

    /// The token that is cancelled when the broker stops, on request or because its disk failed.
    pub fn stopping(&self) -> CancellationToken {
        self.engine.state().stopping.clone()
    }

    /// A handle to the engine for callers in this process.
    pub(crate) fn engine(&self) -> EngineHandle {
        self.engine.handle()
    }

    /// Stops the broker: other brokers take over its partitions, no requests are accepted,
    /// everything is flushed, and the next start needs no recovery.
    ///
    /// # Errors
    /// [`EngineError::Failed`](crate::broker::EngineError::Failed) if the disk had failed, and the
    /// errors of the last flush.
    pub fn stop(mut self) -> Result<(), BrokerError> {
        self.tear_down()
    }

    /// The reason why the broker stopped by itself, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.engine.state().failure.reason()
    }

    /// Waits until this broker knows `brokers` live brokers, including itself.
    pub(crate) fn knows(&self, brokers: usize) -> impl Future<Output = ()> + use<> {
        let mut images = self.engine.state().metadata.image();
        async move {
            // Fails only if the broker has stopped.
            let _ = images.wait_for(|image| image.brokers().len() >= brokers).await;
        }
    }

    /// Stops accepting work as if the broker had failed for `reason`. The caller abandons the
    /// broker afterwards.
    pub(crate) fn fail(&self, reason: &str) {
        self.shared.failure().abandon(reason);
    }

    /// The runtimes that run all tasks of the broker, each on a single thread.
    pub(crate) fn runtimes(&self) -> &[Handle] {
        &self.runtimes
    }

    /// Ends the broker as the end of its process would: nothing is handed over, flushed or closed.
    /// The caller must have cut it off from its disk, its store and its network.
    pub(crate) fn abandon(mut self, reason: &str) {
        self.fail(reason);
        self.end_shards();
        self.engine.abandon(reason);
    }

    fn end_shards(&mut self) {
        for thread in self.shards.drain(..) {
            thread.join();
        }
    }

    fn tear_down(&mut self) -> Result<(), BrokerError> {
        self.engine.complete(replica_manager::resign(self.engine.state()));
        self.engine.state().stopping.cancel();
        self.end_shards();
        Ok(self.engine.stop()?)
    }
}

/// Dropping a broker stops it; errors are lost.
impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.tear_down();
    }
}

/// Starts the tasks of a broker, apart from those of connections.
pub(super) fn start_tasks(
    shared: &Shared,
    engine: &Arc<EngineState>,
    listener: Arc<dyn PartitionsListener>,
) {
    engine.run(listener);
    let replica = &shared.config().replica;
    replica_manager::start(engine, replica, shared.elections(), shared.network());
    forget_deleted_topics(engine, shared.coordinators());
}

/// Converts a size to bytes of memory, at most `usize::MAX`.
fn in_memory(size: ByteSize) -> usize {
    usize::try_from(size.0).unwrap_or(usize::MAX)
}

/// Warns if the limit of descriptors allows fewer connections than the settings.
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
    let count = if shared.config().shards == 0 { cores } else { shared.config().shards };
    let start = |index| Shard::start(index, Arc::clone(shared)).map_err(BrokerError::System);
    (0..count).map(start).collect()
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("address", &self.address()).finish_non_exhaustive()
    }
}
