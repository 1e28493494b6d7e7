//! A broker on a free port with its data in a temporary directory, and clients of it.

use std::path::Path;

use streamlog::broker::{Broker, BrokerConfig, EngineConfig, Listener};
use streamlog::client::{Client, ClientConfig};
use tempfile::TempDir;

/// A broker that can be stopped and started again on the same port and data.
pub(crate) struct TestBroker {
    broker: Option<Broker>,
    config: BrokerConfig,
    _data: TempDir,
}

impl TestBroker {
    /// Starts a broker.
    pub(crate) fn start() -> Self {
        let data = TempDir::new().unwrap();
        let mut config = BrokerConfig {
            listeners: Listener::alone("127.0.0.1", 0),
            engine: EngineConfig::at(data.path()),
            shards: 1,
            ..BrokerConfig::default()
        };
        let broker = Broker::start(config.clone()).unwrap();
        config.listeners[0].address.port = broker.address().port();
        Self { broker: Some(broker), config, _data: data }
    }

    /// Stops it; clients cannot connect.
    pub(crate) fn stop(&mut self) {
        if let Some(broker) = self.broker.take() {
            broker.stop().unwrap();
        }
    }

    /// Starts it again.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.broker = Some(Broker::start(self.config.clone()).unwrap());
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> &Path {
        &self.config.engine.data_dir
    }

    /// Its bootstrap address.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let address =
            format!("127.0.0.1:{}", self.config.listeners[0].address.port).parse().unwrap();
        ClientConfig { bootstrap: vec![address], ..ClientConfig::default() }
    }

    /// A client of it.
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.client_config()).unwrap()
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        self.stop();
    }
}
