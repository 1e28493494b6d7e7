//! The listeners of a running broker, and the listener that a client connected to.

use std::net::SocketAddr;

use crate::broker::{HostPort, Listener};
use crate::metadata::Listener as RegisteredListener;

/// The security protocol of every listener.
const PROTOCOL: &str = "PLAINTEXT";

/// The listening addresses; none if the broker is embedded without connections.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Vec<Bound>);

#[derive(Debug)]
struct Bound {
    name: String,
    address: SocketAddr,
    advertised: Option<HostPort>,
}

impl Listeners {
    /// Creates listeners with names and addresses, some of which advertise another address.
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

    /// The address of the first listener.
    ///
    /// # Panics
    /// If there is no listener.
    pub(crate) fn first(&self) -> SocketAddr {
        assert!(!self.0.is_empty(), "an address of a broker that listens nowhere");
        self.0[0].address
    }

    /// The addresses of all listeners, by name.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.0.iter().map(|bound| (&*bound.name, bound.address))
    }

    /// The name of the listener that owns this local address.
    pub(crate) fn name_reached(&self, local: SocketAddr) -> Option<&str> {
        self.reached(local).map(|bound| &*bound.name)
    }

    /// The address at which a client that reached this local address should contact the broker: the
    /// address that the listener advertises, or else the local address itself.
    pub(crate) fn advertised_to(&self, local: SocketAddr) -> HostPort {
        let told = self.reached(local).and_then(|bound| bound.advertised.clone());
        told.unwrap_or_else(|| HostPort::new(local.ip().to_canonical().to_string(), local.port()))
    }

    /// The addresses to register for other brokers: those known before any client connects.
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

    /// The listener for a local address. Several listeners at different addresses may share a port.
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
    use crate::config::SettingValue;

    fn listeners(addresses: &[(&str, &str)], advertised: &str) -> Listeners {
        let bound = addresses.iter().map(|(name, at)| ((*name).to_owned(), at.parse().unwrap()));
        Listeners::new(bound, &Vec::<Listener>::parse(advertised).unwrap())
    }

    #[test]
    fn a_client_is_told_the_address_of_the_listener_it_reached() {
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
    fn listeners_on_one_port_are_distinguished_by_address() {
        let listeners =
            listeners(&[("A", "127.0.0.1:9092"), ("B", "127.0.0.2:9092")], "B://b.example:1");
        let name = |local: &str| listeners.name_reached(local.parse().unwrap());
        assert_eq!(name("127.0.0.1:9092"), Some("A"));
        assert_eq!(name("127.0.0.2:9092"), Some("B"));
        assert_eq!(name("127.0.0.3:9092"), None);
    }
}
