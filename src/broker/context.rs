//! The state of a broker, and the parts of it that one request may use.

use std::sync::Arc;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::broker::BrokerConfig;
use crate::broker::access::{Addresses, Cluster, LedPartitions, Peers, PreferredElections, Topics};
use crate::broker::call::Call;
use crate::broker::coordinator::{Coordinators, Groups};
use crate::broker::fetch::FetchSessions;
use crate::broker::listeners::Listeners;
use crate::broker::session::Session;
use crate::broker::settings::Settings;
use crate::engine::{EngineState, Failure};
use crate::io::{FileRange, OpenFiles};
use crate::net::{Budget, Network, Reserved};
use crate::replica_manager::Elections;

/// State shared by all connections of a broker.
pub(crate) struct Shared {
    /// The configuration with which the broker was started.
    config: Arc<BrokerConfig>,
    listeners: Listeners,
    /// Metadata, partitions and logs.
    engine: Arc<EngineState>,
    /// The group coordinators of this broker.
    coordinators: Arc<Coordinators>,
    /// The other brokers.
    peers: Arc<Peers>,
    /// The partitions that this broker was asked to hand over.
    elections: Arc<Elections>,
    /// The fetch sessions of consumers and followers.
    fetch_sessions: FetchSessions,
    /// The memory budget for large requests.
    request_memory: Budget,
    /// The network that replaces the system's, if one does.
    network: Option<Arc<dyn Network>>,
}

/// The parts of a broker that the handler of one request may use.
pub(crate) struct Parts<'a> {
    shared: &'a Shared,
    call: &'a Call<'a>,
}

impl Shared {
    /// Creates the state of a broker without connections.
    pub(crate) fn new(
        config: BrokerConfig,
        listeners: Listeners,
        engine: &Arc<EngineState>,
        request_memory: Budget,
        network: Option<Arc<dyn Network>>,
    ) -> Self {
        Self {
            fetch_sessions: FetchSessions::new(config.fetch_sessions_max),
            coordinators: Arc::new(Coordinators::new(config.group.clone())),
            peers: Arc::new(Peers::new(engine, &config.replica, network.as_ref())),
            elections: Arc::default(),
            config: Arc::new(config),
            listeners,
            engine: Arc::clone(engine),
            request_memory,
            network,
        }
    }

    /// The configuration with which the broker was started.
    pub(crate) fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// The network that replaces the system's, if one does.
    pub(crate) fn network(&self) -> Option<&Arc<dyn Network>> {
        self.network.as_ref()
    }

    /// The listeners.
    pub(crate) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// The group coordinators of this broker.
    pub(crate) fn coordinators(&self) -> &Arc<Coordinators> {
        &self.coordinators
    }

    /// The partitions that this broker was asked to hand over.
    pub(crate) fn elections(&self) -> &Arc<Elections> {
        &self.elections
    }

    /// The fetch sessions of consumers and followers.
    pub(crate) fn fetch_sessions(&self) -> &FetchSessions {
        &self.fetch_sessions
    }

    /// The settings of the broker and of topics.
    pub(crate) fn settings(&self) -> Settings<'_> {
        Settings::new(&self.config, &self.engine, &self.peers)
    }

    /// The partitions that this broker leads, for the client of a connection.
    pub(crate) fn partitions<'a>(&'a self, session: &'a Session) -> LedPartitions<'a> {
        LedPartitions::new(&self.engine, session)
    }

    /// The parts that handlers may use for a request.
    pub(crate) fn parts<'a>(&'a self, call: &'a Call<'a>) -> Parts<'a> {
        Parts { shared: self, call }
    }

    /// Opens an account of the memory budget for large requests.
    pub(crate) fn open_memory(&self) -> Reserved {
        self.request_memory.open()
    }

    /// The cache of open files.
    pub(crate) fn open_files(&self) -> &OpenFiles {
        self.engine.logs.data.open_files()
    }

    /// Waits while so much is unflushed that the kernel might throttle writers.
    pub(crate) async fn wait_for_unflushed_room(&self) {
        self.engine.wait_for_unflushed_room().await;
    }

    /// Reads a range that is about to be sent, and verifies it, on a thread that may wait for the
    /// disk.
    pub(crate) async fn load(&self, range: FileRange) -> std::io::Result<Bytes> {
        self.engine.control.load(range).await
    }

    /// Cancelled when the broker stops.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.engine.stopping
    }

    /// The failure that ends the broker, to be reported.
    pub(crate) fn failure(&self) -> &Arc<Failure> {
        &self.engine.failure
    }
}

impl Parts<'_> {
    /// The addresses of brokers for the client.
    pub(crate) fn addresses(&self) -> Addresses<'_> {
        let broker_id = self.shared.engine.config.broker_id;
        Addresses::new(broker_id, self.call.session.identity())
    }

    /// The metadata of the cluster.
    pub(crate) fn cluster(&self) -> Cluster<'_> {
        Cluster::new(&self.shared.engine)
    }

    /// The elections of preferred leaders.
    pub(crate) fn elections(&self) -> PreferredElections<'_> {
        let Shared { engine, peers, elections, .. } = self.shared;
        PreferredElections::new(engine, peers, elections)
    }

    /// The groups that this broker coordinates.
    pub(crate) fn groups(&self) -> Groups<'_> {
        let offsets_topic = &self.shared.config.offsets_topic;
        let Shared { coordinators, engine, .. } = self.shared;
        Groups::new(coordinators, engine, offsets_topic, self.call.cancel)
    }

    /// The partitions that this broker leads.
    pub(crate) fn partitions(&self) -> LedPartitions<'_> {
        self.shared.partitions(self.call.session)
    }

    /// The settings of the broker and of topics.
    pub(crate) fn settings(&self) -> Settings<'_> {
        self.shared.settings()
    }

    /// Creates, extends and deletes topics of the cluster.
    pub(crate) fn topics(&self) -> Topics<'_> {
        Topics::new(&self.shared.engine, &self.shared.peers)
    }
}
