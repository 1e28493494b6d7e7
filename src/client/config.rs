//! The settings of a client's connections.

use std::time::Duration;

use crate::client::Signals;
use crate::config::{HostPort, Key, Kind, millis};

/// The port used for an address without one.
const DEFAULT_PORT: u16 = 9092;

/// Connection settings of a client. The default connects to a broker on this machine.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The brokers contacted first; any of them reports the others.
    pub bootstrap: Vec<HostPort>,
    /// The name of this client in the brokers' logs.
    pub client_id: String,
    /// The default timeout of a call.
    pub timeout: Duration,
    /// The time a request may wait while no bytes of its answer arrive.
    pub request_timeout: Duration,
    /// The timeout of a single connection attempt.
    pub connect_timeout: Duration,
    /// The pause after the first failed attempt; it doubles with each further one.
    pub retry_backoff: Duration,
    /// The upper bound of that pause.
    pub retry_backoff_max: Duration,
    /// The age at which cached topic metadata is requested again.
    pub metadata_max_age: Duration,
    /// The host whose signal handlers run while a thread waits; a handler may interrupt the wait.
    pub signals: Option<&'static dyn Signals>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap: vec![HostPort::new("127.0.0.1", DEFAULT_PORT)],
            client_id: "streamlog".to_owned(),
            timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            retry_backoff: Duration::from_millis(50),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_mins(5),
            signals: None,
        }
    }
}

impl ClientConfig {
    /// Every connection setting.
    pub const KEYS: &[Key<Self>] = &[
        Key {
            name: "bootstrap.servers",
            about: "Bootstrap brokers as HOST:PORT or HOST (port 9092), separated by commas.",
            kind: Kind::List,
            set: |c, text| bootstrap(text).map(|v| c.bootstrap = v),
            get: |c| c.bootstrap.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        },
        Key {
            name: "client.id",
            about: "Name of this client in the brokers' logs.",
            kind: Kind::String,
            set: |c, text| {
                text.clone_into(&mut c.client_id);
                Ok(())
            },
            get: |c| c.client_id.clone(),
        },
        Key {
            name: "default.api.timeout.ms",
            about: "Default timeout of a call.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.timeout = v),
            get: |c| c.timeout.as_millis().to_string(),
        },
        Key {
            name: "request.timeout.ms",
            about: "Timeout of a request while no bytes of its answer arrive.",
            kind: Kind::Int,
            set: |c, text| millis(text, 1).map(|v| c.request_timeout = v),
            get: |c| c.request_timeout.as_millis().to_string(),
        },
        Key {
            name: "socket.connection.setup.timeout.ms",
            about: "Timeout of one attempt to connect.",
            kind: Kind::Long,
            set: |c, text| millis(text, 1).map(|v| c.connect_timeout = v),
            get: |c| c.connect_timeout.as_millis().to_string(),
        },
        Key {
            name: "retry.backoff.ms",
            about: "Pause after the first failed attempt; doubled by each further one.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.retry_backoff = v),
            get: |c| c.retry_backoff.as_millis().to_string(),
        },
        Key {
            name: "retry.backoff.max.ms",
            about: "Longest pause between attempts.",
            kind: Kind::Long,
            set: |c, text| millis(text, 0).map(|v| c.retry_backoff_max = v),
            get: |c| c.retry_backoff_max.as_millis().to_string(),
        },
        Key {
            name: "metadata.max.age.ms",
            about: "Age at which topic metadata is requested again.",
            kind: Kind::Long,
            set: |c, text| millis(text, 1).map(|v| c.metadata_max_age = v),
            get: |c| c.metadata_max_age.as_millis().to_string(),
        },
    ];
}

fn bootstrap(text: &str) -> Result<Vec<HostPort>, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let address = |word: &str| {
        let has_port = word.contains(':') && !word.ends_with(']');
        if has_port { word.parse() } else { format!("{word}:{DEFAULT_PORT}").parse() }
    };
    let addresses: Result<Vec<HostPort>, String> = words.map(address).collect();
    addresses.and_then(|list| if list.is_empty() { Err("HOST:PORT".to_owned()) } else { Ok(list) })
}
