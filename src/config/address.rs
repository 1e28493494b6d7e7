//! Network addresses in text form.

use std::fmt;
use std::str::FromStr;

/// A host, by name or number, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port; 0 requests any free port.
    pub port: u16,
}

impl HostPort {
    /// Creates an address from a host and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "HOST:PORT, such as 127.0.0.1:9092 or [::1]:9092".to_owned();
        let text = text.trim();
        let text = match text.split_once("://") {
            Some(("PLAINTEXT", rest)) => rest,
            Some((scheme, _)) => {
                return Err(format!("the protocol PLAINTEXT; {scheme} is not offered"));
            }
            None => text,
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().map_err(|_| expected())?;
        if host.contains(['/', ',', ' ']) {
            return Err(expected());
        }
        // As in Kafka's files, no host means every interface.
        Ok(Self::new(if host.is_empty() { "0.0.0.0" } else { host }, port))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_and_kafka_write_them() {
        for (text, host, port) in [
            ("127.0.0.1:9092", "127.0.0.1", 9092),
            ("[::1]:0", "::1", 0),
            ("PLAINTEXT://broker.example:9093", "broker.example", 9093),
            (":9092", "0.0.0.0", 9092),
        ] {
            assert_eq!(text.parse(), Ok(HostPort::new(host, port)));
        }
        for text in ["", "localhost", "localhost:", "a:70000", "SSL://a:1", "a b:1"] {
            assert!(text.parse::<HostPort>().is_err(), "{text:?} passed");
        }
        assert_eq!(HostPort::new("::1", 1).to_string(), "[::1]:1");
    }
}
