//! The settings of a client's connections.

use std::time::Duration;

use crate::client::Signals;
use crate::config::{HostPort, SettingValue, settings};

/// The port used for an address without one.
const DEFAULT_PORT: u16 = 9092;

settings! {
    /// Connection settings of a client. The default connects to a broker on this machine.
    #[derive(Clone, Debug)]
    pub struct ClientConfig {
        /// The brokers contacted first, as HOST:PORT or HOST (port 9092), separated by commas; any
        /// of them reports the others.
        #[setting("bootstrap.servers", List)]
        bootstrap: Vec<HostPort> = vec![HostPort::new("127.0.0.1", DEFAULT_PORT)],
        /// The name of this client in the brokers' logs.
        #[setting("client.id", String)]
        client_id: String = "streamlog".to_owned(),
        /// The default timeout of a call.
        #[setting("default.api.timeout.ms", Long in 1..)]
        timeout: Duration = Duration::from_secs(10),
        /// The time a request may wait while no bytes of its answer arrive.
        #[setting("request.timeout.ms", Long in 1..)]
        request_timeout: Duration = Duration::from_secs(30),
        /// The timeout of a single connection attempt.
        #[setting("socket.connection.setup.timeout.ms", Long in 1..)]
        connect_timeout: Duration = Duration::from_secs(10),
        /// The pause after the first failed attempt; it doubles with each further one.
        #[setting("retry.backoff.ms", Long)]
        retry_backoff: Duration = Duration::from_millis(50),
        /// The longest pause between attempts.
        #[setting("retry.backoff.max.ms", Long)]
        retry_backoff_max: Duration = Duration::from_secs(1),
        /// The age at which cached topic metadata is requested again.
        #[setting("metadata.max.age.ms", Long in 1..)]
        metadata_max_age: Duration = Duration::from_mins(5),
    }
    others {
        /// The host whose signal handlers run while a thread waits; a handler may interrupt the
        /// wait.
        signals: Option<&'static dyn Signals> = None,
    }
}

impl SettingValue for Vec<HostPort> {
    fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let address = |word: &str| {
            let has_port = word.contains(':') && !word.ends_with(']');
            if has_port { word.parse() } else { format!("{word}:{DEFAULT_PORT}").parse() }
        };
        let addresses = words.map(address).collect::<Result<Self, String>>()?;
        if addresses.is_empty() { Err("HOST:PORT".to_owned()) } else { Ok(addresses) }
    }

    fn show(&self) -> String {
        self.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}
