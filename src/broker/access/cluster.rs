//! The metadata of the cluster, as far as every handler may see it, and the addresses at which a
//! client should reach the brokers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::broker::errors::Refusal;
use crate::broker::session::Identity;
use crate::engine::EngineState;
use crate::metadata::{Broker as Registered, Image, UncleanElection};
use crate::types::{BrokerId, ProducerId};
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

    /// Waits until an image is as expected, for as long as given.
    pub(crate) async fn wait_until(&self, is_so: impl Fn(&Image) -> bool, limit: Duration) {
        let mut images = self.engine.metadata.image();
        // The caller looks at the image again in any case.
        let _ = timeout(limit, images.wait_for(|image| is_so(image))).await;
    }

    /// The id of this broker.
    pub(crate) fn broker_id(&self) -> BrokerId {
        self.engine.config.broker_id
    }

    /// Elects a leader that lacks acknowledged records.
    pub(crate) async fn elect_unclean(&self, wanted: UncleanElection) -> Result<(), Refusal> {
        let UncleanElection { topic, partition, leader, given_up_from, asked_by, .. } = &wanted;
        tracing::warn!(
            "{asked_by} asks for broker {leader} to lead {topic}-{partition} although it lacks \
             acknowledged records: those from offset {given_up_from} on are given up"
        );
        let engine = Arc::clone(self.engine);
        let elected = async move { engine.metadata.elect_unclean(&wanted).await };
        self.engine.control.run(elected).await??;
        Ok(())
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

    /// The broker that clients should take for the controller: this one while none is elected,
    /// since every broker makes the changes that a controller is asked for.
    pub(crate) fn controller(&self, image: &Image) -> BrokerId {
        let elected = image.controller().map(|controller| controller.broker);
        elected.filter(|id| image.broker(*id).is_some()).unwrap_or(self.broker_id)
    }

    /// A broker, at the address that this client should use; `None` if it has registered none.
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
