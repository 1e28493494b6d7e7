//! The addresses at which the client of a connection should reach the brokers.

use crate::broker::session::Identity;
use crate::metadata::Image;
use crate::types::BrokerId;
use crate::wire::metadata::Broker;

/// The addresses of brokers for one client, which depend on the listener that it connected to.
pub(crate) struct Addresses<'a> {
    broker_id: BrokerId,
    client: &'a Identity,
}

impl<'a> Addresses<'a> {
    /// Creates the addresses for a client of the broker `broker_id`.
    pub(crate) fn new(broker_id: BrokerId, client: &'a Identity) -> Self {
        Self { broker_id, client }
    }

    /// The brokers of a cluster, each at the address that this client should use.
    pub(crate) fn brokers(&self, image: &Image) -> Vec<Broker> {
        let reached = &self.client.listener;
        let described = image.brokers().filter_map(|broker| {
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
        });
        described.collect()
    }
}
