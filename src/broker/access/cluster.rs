//! The metadata of the cluster, as far as every handler may see it, and the addresses at which a
//! client should reach the brokers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::broker::access::problems::data_problems;
use crate::broker::errors::Refusal;
use crate::broker::session::Identity;
use crate::engine::EngineState;
use crate::metadata::{
    self, Broker as Registered, Image, Problem, UncleanElection, UnregisterError,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerId, TopicName, TopicPartition,
};
use crate::wire::ErrorCode;
use crate::wire::metadata::Broker;

/// The metadata of the cluster.
pub(crate) struct Cluster<'a> {
    engine: &'a Arc<EngineState>,
}

/// The addresses of brokers for one client, which depend on the listener that it connected to.
pub(crate) struct Addresses<'a> {
    broker_id: BrokerId,
    client: &'a Identity,
}

impl<'a> Cluster<'a> {
    /// Creates access to the metadata of an engine.
    pub(crate) fn new(engine: &'a Arc<EngineState>) -> Self {
        Self { engine }
    }

    /// The current image.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.engine.image()
    }

    /// Returns true if this broker has a lease: the metadata store has recently confirmed that the
    /// broker is still registered.
    pub(crate) fn reaches_store(&self) -> bool {
        self.engine.metadata.has_lease()
    }

    /// The problems in the data directory of this broker, and those that the metadata shows, as far
    /// as they are asked for.
    pub(crate) async fn problems(&self, in_data: bool, in_metadata: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if in_metadata {
            problems = metadata::problems(&self.image());
        }
        if in_data {
            let engine = Arc::clone(self.engine);
            let found = self.engine.control.run_blocking(move || data_problems(&engine)).await;
            problems.extend(found.unwrap_or_default());
        }
        problems
    }

    /// Waits until `is_so` holds for the current image, for at most `limit`.
    pub(crate) async fn wait_until(&self, is_so: impl Fn(&Image) -> bool, limit: Duration) {
        let mut images = self.engine.metadata.image();
        // Ignore a time-out: the caller checks the image again in any case.
        let _ = timeout(limit, images.wait_for(|image| is_so(image))).await;
    }

    /// The id of this broker.
    pub(crate) fn broker_id(&self) -> BrokerId {
        self.engine.config.broker_id
    }

    /// Elects this broker the leader of a partition although it lacks acknowledged records.
    pub(crate) async fn elect_unclean(&self, wanted: UncleanElection) -> Result<(), Refusal> {
        let UncleanElection { topic, partition, leader, given_up_from, asked_by, .. } =
            wanted.clone();
        if leader != self.broker_id() {
            let reason = format!("only broker {leader} knows the end of its log: ask that one");
            return Err(Refusal::because(ErrorCode::InvalidRequest, &reason));
        }
        let end = self.own_end(&topic, partition).await?;
        if end < given_up_from {
            let reason = format!(
                "the log of broker {leader} ends at {end}: records from there on would be given \
                 up, but only those from {given_up_from} on are accepted to be"
            );
            return Err(Refusal::because(ErrorCode::InvalidRequest, &reason));
        }
        let engine = Arc::clone(self.engine);
        let electing = async move { engine.metadata.elect_unclean(&wanted).await };
        let epoch = self.engine.control.run(electing).await??;
        tracing::warn!(
            "{asked_by} has broker {leader} lead {topic}-{partition} in epoch {epoch} although it \
             lacks acknowledged records: those from offset {given_up_from} on are given up"
        );
        Ok(())
    }

    /// Rebuilds the state of a partition, which an operator has asked for.
    pub(crate) async fn rebuild_state(
        &self,
        partition: TopicPartition,
        epoch: LeaderEpoch,
        asked_by: &str,
    ) -> Result<(), Refusal> {
        let (engine, TopicPartition { topic, partition: index }) =
            (Arc::clone(self.engine), partition.clone());
        let rebuilding = async move { engine.metadata.rebuild_state(&topic, index, epoch).await };
        self.engine.control.run(rebuilding).await??;
        tracing::warn!(
            "{asked_by} has the state of {partition} rebuilt in leader epoch {epoch}: all its \
             replicas are to report their logs"
        );
        Ok(())
    }

    /// The end of this broker's log of a partition.
    async fn own_end(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Result<Offset, Refusal> {
        let image = self.image();
        let unknown = || Refusal::of(ErrorCode::UnknownTopicOrPartition);
        let topic_id = image.topic(topic).ok_or_else(unknown)?.id;
        let id = TopicPartition { topic: topic.clone(), partition };
        let logs = Arc::clone(&self.engine.logs);
        let log = self.engine.control.run_blocking(move || logs.data.log_of(&id, topic_id));
        let log = log.await?.map_err(|error| Refusal::from(&error))?;
        Ok(log.map_or(Offset::ZERO, |log| log.log_end_offset()))
    }

    /// Unregisters a broker that will not return.
    pub(crate) async fn unregister(
        &self,
        broker: BrokerId,
    ) -> Result<Result<(), UnregisterError>, Refusal> {
        let engine = Arc::clone(self.engine);
        let ending = async move { engine.metadata.unregister(broker).await };
        Ok(self.engine.control.run(ending).await?)
    }

    /// A producer id that no other producer of the cluster has.
    pub(crate) async fn new_producer_id(&self) -> Result<ProducerId, Refusal> {
        let engine = Arc::clone(self.engine);
        let id = self.engine.control.run(async move { engine.metadata.new_producer_id().await });
        Ok(id.await??)
    }
}

impl<'a> Addresses<'a> {
    /// Creates the addresses for a client of the broker `broker_id`.
    pub(crate) fn new(broker_id: BrokerId, client: &'a Identity) -> Self {
        Self { broker_id, client }
    }

    /// The brokers of a cluster, each at the address that this client should use.
    pub(crate) fn brokers(&self, image: &Image) -> Vec<Broker> {
        image.brokers().filter_map(|broker| self.broker(broker)).collect()
    }

    /// The broker that clients should treat as the controller: the elected one, or this broker
    /// while none is elected. Any broker executes the requests that clients send to the controller.
    pub(crate) fn controller(&self, image: &Image) -> BrokerId {
        let elected = image.controller().map(|controller| controller.broker);
        elected.filter(|id| image.broker(*id).is_some()).unwrap_or(self.broker_id)
    }

    /// A broker at the address that this client should use; `None` if it has no registered address.
    pub(crate) fn broker(&self, broker: &Registered) -> Option<Broker> {
        let reached = &self.client.listener;
        let (host, port) = if broker.id == self.broker_id {
            let address = reached.advertised_to(self.client.local);
            (address.host, address.port)
        } else {
            let known = &broker.registration.listeners;
            let same = known.iter().find(|listener| listener.name == reached.name());
            let listener = same.or_else(|| known.first())?;
            (listener.host.clone(), listener.port)
        };
        let rack = broker.registration.rack.clone();
        Some(Broker { node_id: broker.id.0, host, port: i32::from(port), rack })
    }
}
