//! A cluster of three nodes with the test's topic on each.

use std::ops::Deref;
use std::time::{Duration, Instant};

use streamlog::client::{Client, ClientConfig, ConsumerConfig, NewTopic};
use streamlog::cluster::LocalCluster;
use streamlog::wire::ErrorCode;

use crate::support::{Connection, TOPIC, batch, values};

/// The longest wait for an event.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A cluster of three nodes.
pub(super) struct ThreeNodes(LocalCluster);

impl Deref for ThreeNodes {
    type Target = LocalCluster;

    fn deref(&self) -> &LocalCluster {
        &self.0
    }
}

impl ThreeNodes {
    /// Starts them with these settings, and creates the test's topic with a replica on each.
    pub(super) fn start(settings: &[(&str, &str)]) -> Self {
        let cluster = Self(LocalCluster::start_with(3, settings).unwrap());
        cluster.make_topic(TOPIC, 3, &[]);
        cluster
    }

    /// Creates a topic with one partition, and waits until it is in sync.
    pub(super) fn make_topic(&self, name: &str, replicas: i16, configs: &[(&str, &str)]) {
        let configs = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let topic =
            NewTopic { partitions: Some(1), replicas: Some(replicas), configs: configs.collect() };
        self.client().admin().create_topic(name, &topic).unwrap();
        self.wait_in_sync(PATIENCE).unwrap();
    }

    /// A client that knows all nodes.
    pub(super) fn client(&self) -> Client {
        let bootstrap = self.bootstrap();
        let bootstrap = bootstrap.split(',').map(|address| address.parse().unwrap()).collect();
        Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap()
    }

    /// A plain connection to a node.
    pub(super) fn connect(&self, node: usize) -> Connection {
        Connection::open(self.address(node).unwrap()).unwrap()
    }

    /// The leader of the test's topic.
    pub(super) fn leading(&self) -> usize {
        self.until(|| self.leader(TOPIC, 0).unwrap())
    }

    /// Waits until another node leads the test's topic.
    pub(super) fn leading_after(&self, before: usize) -> usize {
        self.until(|| self.leader(TOPIC, 0).unwrap().filter(|leader| *leader != before))
    }

    /// Waits until there is a value.
    pub(super) fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain: {:?}", self.0);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stores a number in the test's topic, acknowledged by all in-sync replicas, whoever leads.
    pub(super) fn store(&self, number: u64) {
        self.until(|| {
            let leader = self.leader(TOPIC, 0).unwrap()?;
            let stored = Connection::open(self.address(leader).unwrap()).ok()?;
            store_at(stored, number).ok()?.ok()
        });
    }

    /// The numbers in a topic.
    pub(super) fn stored(&self, topic: &str) -> Vec<u64> {
        let consumer = self.client().consumer(&[topic], ConsumerConfig::default()).unwrap();
        let messages = consumer.until_end().unwrap();
        let number = |value: &[u8]| u64::from_be_bytes(value.try_into().unwrap());
        messages.map(|message| number(message.unwrap().value().unwrap())).collect()
    }
}

/// Stores a number in the test's topic, acknowledged by all in-sync replicas.
pub(super) fn store_at(
    mut connection: Connection,
    number: u64,
) -> std::io::Result<Result<i64, ErrorCode>> {
    connection.produce(batch([number]), -1)
}

/// The numbers that a node returns of the test's topic.
pub(super) fn numbers(found: &streamlog::wire::fetch::Partition) -> Vec<u64> {
    values(&found.records).into_iter().map(|(_, number)| number).collect()
}
