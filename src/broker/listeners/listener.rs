//! Listeners in the configuration: `NAME://HOST:PORT`.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::str::FromStr;

use crate::broker::HostPort;
use crate::config::{Fault, SettingValue};

/// The default name of a listener, and the only supported protocol.
const PLAINTEXT: &str = "PLAINTEXT";

/// Kafka's unsupported protocols. A listener with such a name has that protocol unless mapped
/// otherwise.
const NOT_OFFERED: [&str; 3] = ["SSL", "SASL_PLAINTEXT", "SASL_SSL"];

/// A named listening address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The name, in upper case.
    pub name: String,
    /// The address.
    pub address: HostPort,
}

impl Listener {
    /// The only listener of a broker; port 0 takes any free port.
    pub fn alone(host: impl Into<String>, port: u16) -> Vec<Self> {
        vec![Self { name: PLAINTEXT.to_owned(), address: HostPort::new(host, port) }]
    }
}

impl FromStr for Listener {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = text.trim().split_once("://").unwrap_or((PLAINTEXT, text));
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(is_legal) {
            return Err("[NAME://]HOST:PORT, the name of letters and digits".to_owned());
        }
        Ok(Self { name: name.to_ascii_uppercase(), address: address.parse()? })
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.name, self.address)
    }
}

/// A comma-separated list of listeners, which may be empty.
impl SettingValue for Vec<Listener> {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::new());
        }
        text.split(',').map(str::parse).collect()
    }

    fn show(&self) -> String {
        joined(self)
    }
}

fn joined(listeners: &[Listener]) -> String {
    listeners.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The protocols of listeners: a comma-separated list of `NAME:PROTOCOL`. Listeners can only use
/// PLAINTEXT, but unused names may be mapped to other protocols, as in Kafka's default
/// configuration.
impl SettingValue for BTreeMap<String, String> {
    fn parse(text: &str) -> Result<Self, String> {
        let pair = |pair: &str| {
            let (name, protocol) =
                pair.trim().split_once(':').ok_or_else(|| "NAME:PLAINTEXT, ...".to_owned())?;
            if protocol != PLAINTEXT && !NOT_OFFERED.contains(&protocol) {
                return Err(format!("the protocol PLAINTEXT; {protocol} is not offered"));
            }
            Ok((name.to_ascii_uppercase(), protocol.to_owned()))
        };
        text.split(',').filter(|pair| !pair.trim().is_empty()).map(pair).collect()
    }

    fn show(&self) -> String {
        let pairs = self.iter().map(|(name, protocol)| format!("{name}:{protocol}"));
        pairs.collect::<Vec<_>>().join(",")
    }
}

/// Checks the settings of listeners against each other.
pub(crate) fn check_listeners(
    listeners: &[Listener],
    advertised: &[Listener],
    protocols: &BTreeMap<String, String>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut refuse = |key: &str, listeners: &[Listener], wanted: String| {
        faults.push(Fault::invalid(key, &joined(listeners), wanted));
    };
    if listeners.is_empty() {
        refuse("listeners", listeners, "one address at least".to_owned());
    }
    for (key, named) in [("listeners", listeners), ("advertised.listeners", advertised)] {
        let mut names = HashSet::new();
        if let Some(twice) = named.iter().find(|listener| !names.insert(&listener.name)) {
            refuse(
                key,
                named,
                format!("a name of its own for each; {} is there twice", twice.name),
            );
        }
    }
    let protocol =
        |listener: &Listener| protocols.get(&listener.name).unwrap_or(&listener.name).clone();
    let not_offered = listeners.iter().map(protocol).find(|name| NOT_OFFERED.contains(&&**name));
    if let Some(protocol) = not_offered {
        let wanted = format!("the protocol PLAINTEXT; {protocol} is not offered");
        refuse("listeners", listeners, wanted);
    }
    for told in advertised {
        if listeners.iter().all(|listener| listener.name != told.name) {
            let wanted = format!("names that are in listeners; {} is not", told.name);
            refuse("advertised.listeners", advertised, wanted);
        }
        if matches!(&*told.address.host, "0.0.0.0" | "::") || told.address.port == 0 {
            let wanted = "addresses that clients can connect to".to_owned();
            refuse("advertised.listeners", advertised, wanted);
        }
    }
    faults
}

/// Checks the name of the listener that brokers use among themselves.
pub(crate) fn check_inter_broker(name: &str, listeners: &[Listener]) -> Option<Fault> {
    let is_known = listeners.iter().any(|listener| listener.name.eq_ignore_ascii_case(name));
    let names: Vec<&str> = listeners.iter().map(|listener| &*listener.name).collect();
    let wanted = || format!("the name of a listener, {}", names.join(" or "));
    (!is_known).then(|| Fault::invalid("inter.broker.listener.name", name, wanted()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_read_as_they_are_written() {
        let text = "INSIDE://10.0.0.1:9092,OUTSIDE://[::1]:0";
        let listeners =
            Vec::<Listener>::parse("inside://10.0.0.1:9092, OUTSIDE://[::1]:0").unwrap();
        assert_eq!(listeners.show(), text);
        assert_eq!(Vec::<Listener>::parse(text), Ok(listeners));
        assert_eq!(Vec::parse("localhost:1"), Ok(Listener::alone("localhost", 1)));
        assert_eq!(Vec::<Listener>::parse(" "), Ok(Vec::new()));
        for text in ["a", "://a:1", "in side://a:1", "IN://a", "a:1,", "IN://OUT://a:1"] {
            assert!(Vec::<Listener>::parse(text).is_err(), "{text:?} passed");
        }
    }

    #[test]
    fn brokers_talk_by_a_listener_that_there_is() {
        let listeners = Vec::<Listener>::parse("IN://a:1,OUT://b:2").unwrap();
        assert!(check_inter_broker("out", &listeners).is_none());
        let refused = check_inter_broker("THIRD", &listeners).unwrap().to_string();
        assert!(refused.contains("THIRD") && refused.contains("IN or OUT"), "{refused}");
    }

    fn faults(listeners: &str, advertised: &str, protocols: &str) -> String {
        let read = |text| Vec::<Listener>::parse(text).unwrap();
        let protocols = BTreeMap::parse(protocols).unwrap();
        let faults = check_listeners(&read(listeners), &read(advertised), &protocols);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn inconsistent_listeners_are_refused_by_name() {
        assert_eq!(faults("a:1", "", ""), "");
        assert_eq!(faults("IN://a:1,OUT://b:2", "OUT://c:3", "IN:PLAINTEXT,OUT:PLAINTEXT"), "");
        assert_eq!(faults("SSL://a:1", "", "SSL:PLAINTEXT"), "");
        assert!(faults("", "", "").contains("one address"));
        assert!(faults("IN://a:1,in://b:2", "", "").contains("IN is there twice"));
        assert!(faults("SSL://a:1", "", "").contains("SSL is not offered"));
        assert!(faults("IN://a:1", "OUT://b:2", "").contains("OUT is not"));
        assert!(faults("a:1", "0.0.0.0:1", "").contains("can connect to"));
        assert!(faults("a:1", "b:0", "").contains("can connect to"));
        assert!(faults("IN://a:1", "", "IN:SSL").contains("SSL is not offered"));
        assert_eq!(faults("IN://a:1", "", "IN:PLAINTEXT,SSL:SSL"), "");
        assert!(BTreeMap::parse("IN:TLS").is_err());
        assert!(BTreeMap::parse("IN").is_err());
    }
}
