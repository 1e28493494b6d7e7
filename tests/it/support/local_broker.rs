//! A broker in this process, on a disk that can fail.

use std::sync::Arc;

use streamlog::broker::{Broker, BrokerConfig, BrokerError, EngineConfig, Listener};
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, MemoryDisk, SystemClock};
use streamlog::wire::ErrorCode;
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use super::Connection;
use super::zookeeper::{note_tree, shared_tree};

/// The topic of every test, with one partition.
pub(crate) const TOPIC: &str = "test";

/// A broker, and the disk it is on.
pub(crate) struct LocalBroker {
    /// Its disk.
    pub disk: FaultyDisk,
    broker: Broker,
}

impl LocalBroker {
    /// A broker on a new disk, with the test's topic.
    pub(crate) fn new(seed: u64, settings: &[(&str, &str)]) -> Self {
        Self::with_topic(FaultyDisk::new(Arc::new(MemoryDisk::default()), seed), settings)
    }

    /// A broker on this disk, with the test's topic.
    pub(crate) fn with_topic(disk: FaultyDisk, settings: &[(&str, &str)]) -> Self {
        let broker = Self::on(disk, settings).unwrap();
        broker.make_topic();
        broker
    }

    /// A broker on a disk that may have been used before.
    pub(crate) fn on(disk: FaultyDisk, settings: &[(&str, &str)]) -> Result<Self, BrokerError> {
        Self::at(&Arc::new(SystemClock), disk, settings)
    }

    /// The same, with this clock.
    pub(crate) fn at<C: Clock + 'static>(
        clock: &Arc<C>,
        disk: FaultyDisk,
        settings: &[(&str, &str)],
    ) -> Result<Self, BrokerError> {
        let mut config = BrokerConfig {
            listeners: Listener::alone("127.0.0.1", 0),
            engine: EngineConfig::at("/data"),
            shards: 1,
            ..BrokerConfig::default()
        };
        config.set(settings.iter().copied())?;
        let tree = shared_tree(&disk);
        config.set(tree.iter().map(|(name, tree)| (*name, tree.as_str())))?;
        let broker = {
            let shared: Arc<dyn Disk> = Arc::new(disk.clone());
            let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
            Broker::start_on(config, &shared, &clock)?
        };
        if let Some((_, tree)) = &tree {
            note_tree(&disk, tree);
        }
        Ok(Self { disk, broker })
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.broker.address()).unwrap()
    }

    /// Its address.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.broker.address()
    }

    /// Creates the test's topic if it does not exist.
    pub(crate) fn make_topic(&self) {
        let topic = RequestTopic { name: Some(TOPIC.to_owned()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        let response = self.connect().call(9, &request).unwrap();
        assert_eq!(response.topics[0].error_code, ErrorCode::None);
    }

    /// Shuts it down cleanly.
    pub(crate) fn stop(self) -> Result<FaultyDisk, BrokerError> {
        self.broker.stop().map(|()| self.disk)
    }

    /// Simulates a power failure; returns the disk as it is afterwards.
    pub(crate) fn cut_power(self, seed: u64) -> FaultyDisk {
        let disk = self.disk.crash(seed).unwrap();
        // Its disk returns only errors now; the value only has to be dropped.
        let _ = self.broker.stop();
        disk
    }

    /// Waits until the broker has stopped by itself, and returns the reason.
    pub(crate) fn failure(self) -> BrokerError {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !self.broker.stopping().is_cancelled() {
            assert!(std::time::Instant::now() < deadline, "the broker goes on");
            std::thread::yield_now();
        }
        self.broker.stop().unwrap_err()
    }
}
