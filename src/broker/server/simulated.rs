//! A broker without threads and sockets: a simulation runs several of them in one thread.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::broker::BrokerConfig;
use crate::broker::authorize::Principal;
use crate::broker::context::Shared;
use crate::broker::coordinator::Coordinators;
use crate::broker::dispatch::execute;
use crate::broker::listeners::{BoundListener, Listeners};
use crate::broker::server::broker::start_tasks;
use crate::broker::session::{Identity, Session};
use crate::engine::{
    EngineError, EngineState, Environment, Executor, PartitionsListener, Scheduler,
};
use crate::io::{World, read_exact_at};
use crate::metadata::{Image, Metadata, Store};
use crate::net::{Budget, FRAME_PREFIX, Network, Piece};
use crate::replica_manager::resign;
use crate::replication::{LocalLogs, Partitions, Rules, Topic};

/// The bytes of large requests that a broker holds at once.
const REQUEST_MEMORY: usize = 16 << 20;

/// The parts of a machine and a cluster, as a simulation provides them.
pub struct Simulation {
    /// The disk and the clock.
    pub world: World,
    /// The session with the metadata store.
    pub store: Arc<dyn Store>,
    /// Runs the tasks.
    pub scheduler: Arc<dyn Scheduler>,
    /// Carries the frames between brokers.
    pub network: Arc<dyn Network>,
    /// The rules of replication in force.
    pub rules: Rules,
}

/// A registered broker whose tasks, disk, metadata store and network are simulated.
pub struct SimulatedBroker {
    shared: Arc<Shared>,
    engine: Arc<EngineState>,
    listener: Arc<BoundListener>,
    address: SocketAddr,
}

/// Called with each image that has been applied to the partitions.
pub type OnApplied = Box<dyn Fn(&Image) + Send + Sync>;

/// The group coordinators, and the simulation's own observer.
struct Observed {
    coordinators: Arc<Coordinators>,
    on_applied: OnApplied,
}

impl SimulatedBroker {
    /// Opens the data directory and registers the broker, within the runtime of the simulation.
    ///
    /// # Errors
    /// If the data directory or the metadata cannot be used.
    pub async fn open(
        config: BrokerConfig,
        address: SocketAddr,
        simulation: Simulation,
    ) -> Result<Self, EngineError> {
        let Simulation { world, store, scheduler, network, rules } = simulation;
        let listeners = Listeners::new([("PLAINTEXT".to_owned(), address)], &[]);
        let executor = Executor::Simulated { scheduler, runtime: Handle::current() };
        let environment = Environment { world, store: Some(store), executor, rules };
        let opened = EngineState::open(config.engine.clone(), listeners.registered(), environment);
        let engine = opened.await?;
        let memory = Budget::new(REQUEST_MEMORY, REQUEST_MEMORY);
        let listener = listeners.all().next().unwrap_or_else(|| unreachable!("there is one"));
        let shared = Shared::new(config, listeners, &engine, memory, Some(network));
        Ok(Self { shared: Arc::new(shared), engine, listener, address })
    }

    /// Starts the tasks of the broker.
    pub fn run(&self, on_applied: OnApplied) {
        let coordinators = Arc::clone(self.shared.coordinators());
        start_tasks(&self.shared, &self.engine, Arc::new(Observed { coordinators, on_applied }));
    }

    /// Answers a request. Both are frames without their lengths. `None` if the connection is to be
    /// closed instead.
    pub async fn answer(&self, peer: SocketAddr, request: &[u8]) -> Option<Bytes> {
        let identity = Identity {
            principal: Principal::anonymous(),
            listener: Arc::clone(&self.listener),
            peer,
            local: self.address,
        };
        let (session, cancel) = (Session::new(identity), CancellationToken::new());
        let mut frame = BytesMut::from(request);
        let answered = execute(&mut frame, &self.shared, &session, &cancel).await;
        let pieces = answered.inspect_err(|error| tracing::debug!(%error, "no answer")).ok()?;
        let mut answer = BytesMut::new();
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => answer.extend_from_slice(&bytes),
                Piece::File(range) => {
                    let start = answer.len();
                    answer.resize(start + usize::try_from(range.length).ok()?, 0);
                    read_exact_at(&*range.file, &mut answer[start..], range.position).ok()?;
                }
            }
        }
        (answer.len() >= FRAME_PREFIX).then(|| answer.split_off(FRAME_PREFIX).freeze())
    }

    /// Hands over all partitions that another broker can lead.
    pub async fn resign(&self) {
        resign(&self.engine).await;
    }

    /// Leaves the cluster and closes the data directory; all tasks have ended.
    ///
    /// # Errors
    /// If the session could not be closed, or the last flush has failed.
    pub async fn close(&self) -> Result<(), EngineError> {
        let left = self.engine.metadata.leave().await;
        let high_watermarks = self.engine.partitions.high_watermarks();
        self.engine.logs.data.close(&high_watermarks)?;
        Ok(left?)
    }

    /// Lets go of the data directory as the end of the process does; all tasks have ended.
    pub fn abandon(&self) {
        self.engine.partitions.replace([]);
        self.engine.logs.data.unlock();
    }

    /// The replicas of this broker.
    pub fn partitions(&self) -> &Arc<Partitions> {
        &self.engine.partitions
    }

    /// The logs of this broker.
    pub fn logs(&self) -> &Arc<LocalLogs> {
        &self.engine.logs
    }

    /// The metadata as this broker sees it.
    pub fn metadata(&self) -> &Metadata {
        &self.engine.metadata
    }

    /// Waits until the broker has stopped by itself.
    pub async fn failed(&self) {
        self.engine.stopping.cancelled().await;
    }

    /// The reason why it has.
    pub fn failure(&self) -> Option<String> {
        self.engine.failure.reason()
    }
}

impl PartitionsListener for Observed {
    fn partitions_changed(&self, engine: &Arc<EngineState>) {
        self.coordinators.partitions_changed(engine);
        (self.on_applied)(&engine.image());
    }

    fn is_ready(&self, topic: &Topic) -> bool {
        self.coordinators.is_ready(topic)
    }
}
