//! The listeners of a running broker, and by which of them a client came.

use std::net::SocketAddr;

use crate::broker::{HostPort, Listener};
use crate::metadata::Listener as RegisteredListener;

/// The protocol of every listener.
const PROTOCOL: &str = "PLAINTEXT";

/// Where a broker listens; nowhere, when it is embedded without connections.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Vec<Bound>);

#[derive(Debug)]
struct Bound {
    name: String,
    address: SocketAddr,
    advertised: Option<HostPort>,
}

impl Listeners {
    /// What listens at `addresses`, each by its name, and what clients are told instead of some.
    pub(crate) fn new(
        addresses: impl IntoIterator<Item = (String, SocketAddr)>,
        advertised: &[Listener],
    ) -> Self {
        let bound = addresses.into_iter().map(|(name, address)| {
            let told = advertised.iter().find(|told| told.name == name);
            Bound { advertised: told.map(|told| told.address.clone()), name, address }
        });
        Self(bound.collect())
    }

    /// The address of the first.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn first(&self) -> SocketAddr {
        assert!(!self.0.is_empty(), "an address of a broker that listens nowhere");
        self.0[0].address
    }

    /// Each by its name.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.0.iter().map(|bound| (&*bound.name, bound.address))
    }

    /// The name of the listener that a client reached by this address of ours.
    pub(crate) fn name_reached(&self, local: SocketAddr) -> Option<&str> {
        self.reached(local).map(|bound| &*bound.name)
    }

    /// Where a client that reached this address of ours is told to find this broker: what its
    /// listener advertises, else that address.
    pub(crate) fn advertised_to(&self, local: SocketAddr) -> HostPort {
        let told = self.reached(local).and_then(|bound| bound.advertised.clone());
        told.unwrap_or_else(|| HostPort::new(local.ip().to_canonical().to_string(), local.port()))
    }

    /// What is known before anybody comes, for the other brokers.
    pub(crate) fn registered(&self) -> Vec<RegisteredListener> {
        let listener = |bound: &Bound| {
            let told = bound.advertised.clone()?;
            Some(RegisteredListener {
                name: bound.name.clone(),
                host: told.host,
                port: told.port,
                security_protocol: PROTOCOL.to_owned(),
            })
        };
        self.0.iter().filter_map(listener).collect()
    }

    /// A port may be shared by listeners at different addresses.
    fn reached(&self, local: SocketAddr) -> Option<&Bound> {
        let ip = local.ip().to_canonical();
        let on_port = || self.0.iter().filter(|bound| bound.address.port() == local.port());
        let exact = on_port().find(|bound| bound.address.ip().to_canonical() == ip);
        exact.or_else(|| on_port().find(|bound| bound.address.ip().is_unspecified()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::listeners::parse_listeners;

    fn listeners(addresses: &[(&str, &str)], advertised: &str) -> Listeners {
        let bound = addresses.iter().map(|(name, at)| ((*name).to_owned(), at.parse().unwrap()));
        Listeners::new(bound, &parse_listeners(advertised).unwrap())
    }

    #[test]
    fn a_client_is_told_the_address_of_the_listener_it_came_by() {
        let listeners = listeners(
            &[("IN", "127.0.0.1:9092"), ("OUT", "0.0.0.0:9093"), ("SIX", "[::]:9094")],
            "OUT://public.example:443",
        );
        let told = |local: &str| listeners.advertised_to(local.parse().unwrap()).to_string();
        assert_eq!(told("127.0.0.1:9092"), "127.0.0.1:9092");
        assert_eq!(told("10.1.2.3:9093"), "public.example:443");
        assert_eq!(told("[::ffff:10.1.2.3]:9094"), "10.1.2.3:9094");
        assert_eq!(listeners.name_reached("10.1.2.3:9093".parse().unwrap()), Some("OUT"));
        assert_eq!(listeners.registered().len(), 1, "the others have no address for everybody");
    }

    #[test]
    fn of_two_listeners_on_one_port_the_address_decides() {
        let listeners =
            listeners(&[("A", "127.0.0.1:9092"), ("B", "127.0.0.2:9092")], "B://b.example:1");
        let name = |local: &str| listeners.name_reached(local.parse().unwrap());
        assert_eq!(name("127.0.0.1:9092"), Some("A"));
        assert_eq!(name("127.0.0.2:9092"), Some("B"));
        assert_eq!(name("127.0.0.3:9092"), None);
    }
}
