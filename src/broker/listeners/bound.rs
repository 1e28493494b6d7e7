//! The listeners of a running broker.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::broker::{HostPort, Listener};
use crate::config::ConfigError;
use crate::metadata::Listener as RegisteredListener;

/// The security protocol of every listener.
const PROTOCOL: &str = "PLAINTEXT";

/// A listener whose socket is open.
#[derive(Debug)]
pub(crate) struct BoundListener {
    name: String,
    address: SocketAddr,
    advertised: Option<HostPort>,
}

/// The listeners of a broker; none if the broker is embedded without connections.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Vec<Arc<BoundListener>>);

impl BoundListener {
    /// The name, in upper case.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address at which a client that connected to this local address should contact the
    /// broker: the address that the listener advertises, or else the local address itself.
    pub(crate) fn advertised_to(&self, local: SocketAddr) -> HostPort {
        let itself = || HostPort::new(local.ip().to_canonical().to_string(), local.port());
        self.advertised.clone().unwrap_or_else(itself)
    }

    /// The address at which other brokers reach the listener, if it is known.
    fn reachable(&self) -> Option<HostPort> {
        let (ip, port) = (self.address.ip(), self.address.port());
        let bound = || (!ip.is_unspecified()).then(|| HostPort::new(ip.to_string(), port));
        self.advertised.clone().or_else(bound)
    }
}

impl Listeners {
    /// Creates listeners with names and addresses, some of which advertise another address.
    pub(crate) fn new(
        addresses: impl IntoIterator<Item = (String, SocketAddr)>,
        advertised: &[Listener],
    ) -> Self {
        let bound = addresses.into_iter().map(|(name, address)| {
            let told = advertised.iter().find(|told| told.name == name);
            let advertised = told.map(|told| told.address.clone());
            Arc::new(BoundListener { name, address, advertised })
        });
        Self(bound.collect())
    }

    /// All listeners, in the order of the configuration.
    pub(crate) fn all(&self) -> impl Iterator<Item = Arc<BoundListener>> {
        self.0.iter().cloned()
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

    /// The addresses to register for other brokers. A listener on all addresses of the machine is
    /// left out unless it advertises an address: this broker cannot know which one other machines
    /// reach.
    pub(crate) fn registered(&self) -> Vec<RegisteredListener> {
        let listener = |bound: &Arc<BoundListener>| {
            let told = bound.reachable()?;
            Some(RegisteredListener {
                name: bound.name.clone(),
                host: told.host,
                port: told.port,
                security_protocol: PROTOCOL.to_owned(),
            })
        };
        self.0.iter().filter_map(listener).collect()
    }

    /// Refuses listeners that have no address for other brokers.
    ///
    /// # Errors
    /// With the first such listener.
    pub(crate) fn require_reachable(&self) -> Result<(), ConfigError> {
        let Some(bound) = self.0.iter().find(|bound| bound.reachable().is_none()) else {
            return Ok(());
        };
        let (name, address) = (&bound.name, bound.address);
        let reason = format!(
            "the other brokers of the cluster need an address of this one, and {name}://{address} \
             means every address of its machine: give one with --advertise HOST:PORT"
        );
        Err(ConfigError::single("advertised.listeners", reason))
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
    fn a_client_is_told_the_address_that_its_listener_advertises_or_its_own() {
        let listeners = listeners(
            &[("IN", "127.0.0.1:9092"), ("OUT", "0.0.0.0:9093"), ("SIX", "[::]:9094")],
            "OUT://public.example:443",
        );
        let all: Vec<_> = listeners.all().collect();
        let [inside, outside, six] = <[_; 3]>::try_from(all).unwrap();
        let told = |listener: &BoundListener, local: &str| {
            listener.advertised_to(local.parse().unwrap()).to_string()
        };
        assert_eq!(told(&inside, "127.0.0.1:9092"), "127.0.0.1:9092");
        assert_eq!(told(&outside, "10.1.2.3:9093"), "public.example:443");
        assert_eq!(told(&six, "[::ffff:10.1.2.3]:9094"), "10.1.2.3:9094");
        let registered = listeners.registered().into_iter();
        let registered: Vec<_> = registered.map(|l| (l.name, l.host, l.port)).collect();
        let listener = |name: &str, host: &str, port| (name.to_owned(), host.to_owned(), port);
        let expected = [listener("IN", "127.0.0.1", 9092), listener("OUT", "public.example", 443)];
        assert_eq!(registered, expected);
        let refusal = listeners.require_reachable().unwrap_err().to_string();
        assert!(refusal.contains("SIX://[::]:9094"), "{refusal}");
    }
}
