//! The other brokers of the cluster. A request that changes topics is answered only after they have
//! caught up with the change. The leaders among them are asked to hand over partitions.
//!
//! Every broker learns of a change by its own watch on the metadata store. The broker that made the
//! change sends the others a `Metadata` request, which each answers once it serves the change. A
//! broker that leaves the cluster meanwhile is no longer asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::config::HostPort;
use crate::engine::{EngineError, EngineState};
use crate::link::{Connector, LinkError, Network, SharedConnection, Tasks};
use crate::metadata::{Broker, TopicState};
use crate::replica_manager::{ReplicaConfig, connector};
use crate::types::{BrokerId, TopicId};
use crate::wire::metadata::{AwaitedTopic, RequestTopic};
use crate::wire::{ElectLeadersRequest, ErrorCode, MetadataRequest, elect_leaders};

/// The pause before a broker that could not be asked is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The other brokers, with a connection to each that was asked.
pub(crate) struct Peers {
    engine: Arc<EngineState>,
    connector: Connector,
    connections: Mutex<HashMap<HostPort, Arc<SharedConnection>>>,
    /// The name of the listener at which the other brokers are reached.
    listener: Option<String>,
}

impl Peers {
    /// Creates access to the other brokers; their connections are closed when the engine stops.
    pub(crate) fn new(
        engine: &Arc<EngineState>,
        config: &ReplicaConfig,
        network: Option<&Arc<dyn Network>>,
    ) -> Self {
        let failure = Arc::clone(&engine.failure);
        let on_panic = move || failure.notice_task("the connections to other brokers");
        let tasks = Tasks::on(engine.control.runtime().clone(), on_panic);
        let connector = connector(engine, config, network, tasks.clone());
        let stopping = engine.stopping.clone();
        engine.control.start(async move {
            stopping.cancelled().await;
            tasks.stop();
            tasks.ended().await;
        });
        let (connections, listener) = (Mutex::default(), config.listener.clone());
        Self { engine: Arc::clone(engine), connector, connections, listener }
    }

    /// Waits until all live brokers serve these topics as this broker knows them.
    ///
    /// # Errors
    /// `NotApplied` if that takes longer than `within`.
    pub(crate) async fn catch_up(
        self: &Arc<Self>,
        topics: &[TopicId],
        within: Duration,
    ) -> Result<(), EngineError> {
        let image = self.engine.image();
        if image.has_single_broker() || topics.is_empty() {
            return Ok(());
        }
        let awaited = topics.iter().map(|id| awaited(&TopicState::of(&image, *id)));
        let request = MetadataRequest {
            topics: Some(awaited.collect()),
            allow_auto_topic_creation: false,
            applied_within_ms: i32::try_from(within.as_millis()).unwrap_or(i32::MAX),
            ..MetadataRequest::default()
        };
        let me = self.engine.config.broker_id;
        let others = image.brokers().map(|broker| broker.id).filter(|broker| *broker != me);
        let (peers, others) = (Arc::clone(self), others.collect());
        let asking = async move { timeout(within, peers.ask_all(others, request)).await };
        self.engine.control.run(asking).await?.map_err(|_| EngineError::NotApplied)
    }

    /// Asks the leader of partitions to hand them over to their preferred leaders, and to try for
    /// at most `within`. The leader answers before the hand-overs: the metadata shows their result.
    pub(crate) fn elect_preferred(
        self: &Arc<Self>,
        leader: BrokerId,
        partitions: Vec<elect_leaders::RequestTopic>,
        within: Duration,
    ) {
        let request = ElectLeadersRequest {
            election_type: elect_leaders::PREFERRED,
            topic_partitions: Some(partitions),
            timeout_ms: i32::try_from(within.as_millis()).unwrap_or(i32::MAX),
            begins_only: true,
            ..ElectLeadersRequest::default()
        };
        let peers = Arc::clone(self);
        self.engine.control.start(async move {
            let Some(address) = peers.address(leader) else { return };
            let asking = async {
                let connection = peers.connection(&address).get().await?;
                connection.submit(&request)?.answer().await
            };
            let stopping = &peers.engine.stopping;
            match stopping.run_until_cancelled(timeout(within, asking)).await {
                Some(Ok(Err(error))) => {
                    tracing::warn!(%leader, %error, "a leader could not be asked to hand over");
                }
                Some(Ok(Ok(answer))) if answer.error_code != ErrorCode::None => {
                    let error = answer.error_code;
                    tracing::warn!(%leader, %error, "a leader refuses to hand over");
                }
                // No warning: the metadata shows whether the leader hands over, the time is up, or
                // this broker stops.
                Some(Ok(Ok(_)) | Err(_)) | None => {}
            }
        });
    }

    /// Asks all these brokers at the same time, so that none waits for a slow one.
    async fn ask_all(self: Arc<Self>, brokers: Vec<BrokerId>, request: MetadataRequest) {
        let request = Arc::new(request);
        let mut asked = JoinSet::new();
        for broker in brokers {
            let (peers, request) = (Arc::clone(&self), Arc::clone(&request));
            asked.spawn(async move { peers.ask(broker, &request).await });
        }
        self.engine.stopping.run_until_cancelled(asked.join_all()).await;
    }

    /// Asks a broker until it serves the topics or is no longer registered.
    async fn ask(&self, broker: BrokerId, request: &MetadataRequest) {
        while let Some(address) = self.address(broker) {
            match self.exchange(&address, request).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%broker, %error, "a broker could not be asked to catch up");
                    sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    /// Returns true if a broker serves the topics.
    async fn exchange(
        &self,
        address: &HostPort,
        request: &MetadataRequest,
    ) -> Result<bool, LinkError> {
        let answer = self.connection(address).get().await?.submit(request)?.answer().await?;
        Ok(answer.topics.iter().all(|topic| topic.error_code != ErrorCode::RequestTimedOut))
    }

    fn connection(&self, address: &HostPort) -> Arc<SharedConnection> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.engine.image();
        connections.retain(|address, _| known.brokers().any(|broker| self.is_at(broker, address)));
        let make = || Arc::new(SharedConnection::new(address.clone(), self.connector.clone()));
        Arc::clone(connections.entry(address.clone()).or_insert_with(make))
    }

    /// The address of a live broker, if it has registered any.
    fn address(&self, broker: BrokerId) -> Option<HostPort> {
        let image = self.engine.image();
        let listener = image.broker(broker)?.listener(self.listener.as_deref())?;
        Some(HostPort::new(listener.host.clone(), listener.port))
    }

    fn is_at(&self, broker: &Broker, address: &HostPort) -> bool {
        let listener = broker.listener(self.listener.as_deref());
        listener.is_some_and(|known| known.host == address.host && known.port == address.port)
    }
}

/// The entry of a request for a topic whose state is awaited.
fn awaited(state: &TopicState) -> RequestTopic {
    let epochs = state.leader_epochs.iter().flatten().map(|epoch| epoch.0).collect();
    let awaited = AwaitedTopic {
        is_deleted: state.leader_epochs.is_none(),
        leader_epochs: epochs,
        config_version: state.config_version.unwrap_or(-1),
    };
    RequestTopic { topic_id: state.id, name: None, awaited }
}
