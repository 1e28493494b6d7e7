//! The other brokers of the cluster, which are asked to catch up with a change of topics before its
//! request is answered, and to hand over partitions that they lead.
//!
//! A change is written to the metadata store, and each broker hears of it by its own watch. The
//! broker that made it asks the others, by a request for metadata, to answer once they serve what
//! it knows. A broker that ends meanwhile is no longer asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::config::HostPort;
use crate::engine::{EngineError, EngineState};
use crate::link::{Connector, LinkError, SharedConnection, Tasks};
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
}

impl Peers {
    /// Creates access to the other brokers; their connections are closed when the engine stops.
    pub(crate) fn new(engine: &Arc<EngineState>, config: &ReplicaConfig) -> Self {
        let failure = Arc::clone(&engine.failure);
        let on_panic = move || failure.notice_task("the connections to other brokers");
        let tasks = Tasks::on(engine.control.runtime().clone(), on_panic);
        let connector = connector(engine, config, tasks.clone());
        let stopping = engine.stopping.clone();
        engine.control.start(async move {
            stopping.cancelled().await;
            tasks.stop();
            tasks.ended().await;
        });
        Self { engine: Arc::clone(engine), connector, connections: Mutex::default() }
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

    /// Asks the leader of partitions to begin to hand them over to their preferred leaders, for as
    /// long as given. Whether it does is seen in the metadata.
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
            if let Some(Ok(Err(error))) =
                stopping.run_until_cancelled(timeout(within, asking)).await
            {
                tracing::warn!(%leader, %error, "a leader could not be asked to hand over");
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

    /// Asks a broker until it serves the topics, or has ended.
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
        connections.retain(|address, _| known.brokers().any(|broker| is_at(broker, address)));
        let make = || Arc::new(SharedConnection::new(address.clone(), self.connector.clone()));
        Arc::clone(connections.entry(address.clone()).or_insert_with(make))
    }

    /// The address of a live broker, if it has registered any.
    fn address(&self, broker: BrokerId) -> Option<HostPort> {
        let image = self.engine.image();
        let listener = image.broker(broker)?.listener(None)?;
        Some(HostPort::new(listener.host.clone(), listener.port))
    }
}

fn is_at(broker: &Broker, address: &HostPort) -> bool {
    let listener = broker.listener(None);
    listener.is_some_and(|listener| listener.host == address.host && listener.port == address.port)
}

/// A topic whose state is awaited, as a request names it.
fn awaited(state: &TopicState) -> RequestTopic {
    let epochs = state.leader_epochs.iter().flatten().map(|epoch| epoch.0).collect();
    let awaited = AwaitedTopic {
        is_deleted: state.leader_epochs.is_none(),
        leader_epochs: epochs,
        config_version: state.config_version.unwrap_or(-1),
    };
    RequestTopic { topic_id: state.id, name: None, awaited }
}
