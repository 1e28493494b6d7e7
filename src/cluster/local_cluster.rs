//! A cluster of brokers in this process.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::broker::{BrokerConfig, Listener};
use crate::cluster::network::Directions;
use crate::cluster::node::{Crash, Node, free_port};
use crate::cluster::store_link::Outage;
use crate::cluster::{ClusterError, End};
use crate::config::{ConfigError, Fault};
use crate::engine::EngineConfig;
#[cfg(feature = "internals")]
use crate::io::faulty::FaultyDisk;
use crate::io::{Clock, SystemClock};
use crate::metadata::{Image, MemoryStore, Metadata, MetadataConfig, MetadataError, Store};
use crate::types::{BrokerId, PartitionIndex, TopicName};

/// The largest number of nodes.
const NODES_MAX: usize = 16;

/// The longest wait until all nodes know each other.
const READY_MAX: Duration = Duration::from_secs(30);

/// The settings of nodes that differ from those of a broker: tests wait for these times.
const DEFAULTS: [(&str, &str); 3] = [
    ("num.network.threads", "1"),
    ("replica.lag.time.max.ms", "2000"),
    ("zookeeper.session.timeout.ms", "2000"),
];

/// The settings of which each node has its own value.
const OWN: [&str; 9] = [
    "advertised.listeners",
    "broker.id",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "node.id",
    "zookeeper.connect",
];

/// Brokers in this process, with real sockets on loopback and everything else in memory.
///
/// Nodes are numbered from 0, and the id of a broker is the number of its node. Dropping a cluster
/// ends all nodes.
pub struct LocalCluster {
    nodes: Vec<Arc<Node>>,
    directions: Arc<Directions>,
    /// A session that sees the metadata whatever happens to the nodes.
    observer: MemoryStore,
    session_timeout: Duration,
    /// The number of the outage of the store; `None` while it can be reached.
    outage: watch::Sender<Option<u64>>,
    outages: AtomicU64,
    /// Runs the timers of faults.
    runtime: Runtime,
}

impl LocalCluster {
    /// Starts a cluster, and returns once all nodes accept requests and know each other.
    ///
    /// # Errors
    /// [`ClusterError::NodeCount`], and errors of the system.
    pub fn start(nodes: usize) -> Result<Self, ClusterError> {
        Self::start_with(nodes, &[])
    }

    /// Starts a cluster whose brokers have these settings, by Kafka's names. The time-out of
    /// sessions with the metadata store, `zookeeper.session.timeout.ms`, is 2 s by default.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`ClusterError::Config`] with each setting that is not valid.
    pub fn start_with(nodes: usize, settings: &[(&str, &str)]) -> Result<Self, ClusterError> {
        if !(1..=NODES_MAX).contains(&nodes) {
            return Err(ClusterError::NodeCount { asked: nodes, most: NODES_MAX });
        }
        let config = common_config(settings)?;
        let ports: Vec<_> = (0..nodes).map(|_| free_port()).collect::<Result<_, _>>()?;
        let addresses: Vec<_> =
            ports.iter().map(TcpSocket::local_addr).collect::<Result<_, _>>()?;
        let directions = Arc::new(Directions::between(addresses));
        let new_node = |(index, port): (usize, TcpSocket)| -> Result<_, ClusterError> {
            let config = node_config(config.clone(), index, port.local_addr()?);
            Ok(Arc::new(Node::new(index, config, port, Arc::clone(&directions))?))
        };
        let nodes = ports.into_iter().enumerate().map(new_node).collect::<Result<_, _>>()?;
        let session_timeout = config.zookeeper.session_timeout;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("streamlog-cluster")
            .enable_time()
            .build()?;
        let cluster = Self {
            nodes,
            directions,
            observer: MemoryStore::with_timeout(Arc::new(SystemClock), session_timeout),
            session_timeout,
            outage: watch::Sender::new(None),
            outages: AtomicU64::default(),
            runtime,
        };
        cluster.start_all()?;
        Ok(cluster)
    }

    /// Checks settings without starting a cluster.
    ///
    /// # Errors
    /// With each setting that is not valid, or that each node has its own value of.
    pub fn check(settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        common_config(settings).map(drop)
    }

    fn start_all(&self) -> Result<(), ClusterError> {
        let started: Vec<_> = thread::scope(|scope| {
            let start = |node| scope.spawn(move || self.start_node(node));
            let starting: Vec<_> = (0..self.len()).map(start).collect();
            starting.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        for started in started {
            started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let known = async {
            for node in &self.nodes {
                node.knows(self.len()).await;
            }
        };
        let known = self.runtime.block_on(async { timeout(READY_MAX, known).await });
        known.map_err(|_elapsed| ClusterError::NotInSync {
            within: READY_MAX,
            lacking: "the brokers do not know each other".to_owned(),
        })
    }

    /// The number of nodes, whether they run or not.
    #[expect(clippy::len_without_is_empty, reason = "there is no cluster without nodes")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The address of a node, which it keeps for the lifetime of the cluster.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`].
    pub fn address(&self, node: usize) -> Result<SocketAddr, ClusterError> {
        Ok(self.node(node)?.address())
    }

    /// The addresses of all nodes, for clients: `HOST:PORT,HOST:PORT,...`.
    pub fn bootstrap(&self) -> String {
        let addresses = self.nodes.iter().map(|node| node.address().to_string());
        addresses.collect::<Vec<_>>().join(",")
    }

    /// Returns true while a node runs, even if it is paused.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`].
    pub fn is_running(&self, node: usize) -> Result<bool, ClusterError> {
        Ok(self.node(node)?.is_running())
    }

    /// The reason why a node has stopped by itself, such as a failed disk, until it is started
    /// again.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`].
    pub fn failure(&self, node: usize) -> Result<Option<String>, ClusterError> {
        Ok(self.node(node)?.failure())
    }

    /// The disk of a node, to make it fail.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`].
    #[cfg(feature = "internals")]
    pub fn disk(&self, node: usize) -> Result<FaultyDisk, ClusterError> {
        Ok(self.node(node)?.disk())
    }

    /// Starts a node that does not run, at its address and on its disk. If the metadata store is
    /// lost, or counts the previous process of the node as alive, it waits.
    ///
    /// # Errors
    /// [`ClusterError::Running`], and [`ClusterError::Node`] if its broker does not start.
    pub fn start_node(&self, node: usize) -> Result<(), ClusterError> {
        let node = self.node(node)?;
        self.wait_for_store(Duration::MAX);
        let stopping = node.start(self.observer.another())?;
        let (node, blocking) = (Arc::clone(node), self.runtime.handle().clone());
        drop(self.runtime.spawn(async move {
            stopping.cancelled().await;
            drop(blocking.spawn_blocking(move || node.end_if_failed()));
        }));
        Ok(())
    }

    /// Stops a node in order: other brokers lead its partitions, and everything is flushed.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`], and [`ClusterError::Node`] if its disk had failed.
    pub fn stop(&self, node: usize) -> Result<(), ClusterError> {
        self.node(node)?.stop()
    }

    /// Ends a node as `kill -9` ends a process: nothing is handed over, answered or flushed. Its
    /// written data is there at the next start, and other leaders are elected at once.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    pub fn kill(&self, node: usize) -> Result<(), ClusterError> {
        self.node(node)?.crash(Crash::Killed)
    }

    /// Ends a node as a power failure ends a machine: any part of the data that was not flushed may
    /// be lost. Other leaders are elected after the time-out of its session.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    pub fn lose_power(&self, node: usize) -> Result<(), ClusterError> {
        let node = self.node(node)?;
        node.crash(Crash::PowerLost)?;
        // If the node is started before its session expires, that start waits for the expiry, so
        // nothing cancels the expiry.
        self.expire_later(node, CancellationToken::new());
        Ok(())
    }

    /// Freezes a node, and lets it go on after `duration`: none of its tasks, timers and threads
    /// runs, as after SIGSTOP. It returns once the node stands still. If the pause is longer than
    /// the time-out of the node's session, the store ends the session, and the node learns of it
    /// afterwards. A second pause replaces the end of the first.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    pub fn pause(&self, node: usize, duration: Duration) -> Result<(), ClusterError> {
        let node = Arc::clone(self.node(node)?);
        let was_paused = node.is_paused();
        let (number, over) = node.pause()?;
        if !was_paused {
            self.expire_later(&node, over);
        }
        let blocking = self.runtime.handle().clone();
        drop(self.runtime.spawn(async move {
            sleep(duration).await;
            // This may wait for the lock of the node, which is held while the node stops.
            drop(blocking.spawn_blocking(move || node.resume(Some(number))));
        }));
        Ok(())
    }

    /// Ends the pause of a node early, if there is one.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`].
    pub fn resume(&self, node: usize) -> Result<(), ClusterError> {
        self.node(node)?.resume(None);
        Ok(())
    }

    /// Ends the session of a node with the metadata store: other leaders are elected, and the node
    /// begins another session as soon as it learns of that.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    pub fn expire(&self, node: usize) -> Result<(), ClusterError> {
        let found = self.node(node)?;
        if !found.is_running() {
            return Err(ClusterError::NotRunning { node });
        }
        if let Some(session) = found.link().session() {
            session.expire();
        }
        Ok(())
    }

    /// Lets no bytes pass from `a` to `b`, and unless `one_way` none from `b` to `a`, until
    /// [`heal`](Self::heal). Connections stay open, and bytes that were sent arrive afterwards.
    ///
    /// ```
    /// # use streamlog::cluster::{ClusterError, End, LocalCluster};
    /// let cluster = LocalCluster::start(2)?;
    /// cluster.cut(0, 1, true)?; // node 1 hears nothing from node 0
    /// cluster.cut(End::Clients, 1, false)?; // no client reaches node 1
    /// # Ok::<(), ClusterError>(())
    /// ```
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`] and [`ClusterError::SameEnd`].
    pub fn cut(
        &self,
        a: impl Into<End>,
        b: impl Into<End>,
        one_way: bool,
    ) -> Result<(), ClusterError> {
        self.directions.cut(a.into(), b.into(), one_way)
    }

    /// Has bytes between `a` and `b` take `delay` in each direction, until [`heal`](Self::heal) or
    /// another delay. In an exchange with a client, both delays apply to its request.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchNode`] and [`ClusterError::SameEnd`].
    pub fn delay(
        &self,
        a: impl Into<End>,
        b: impl Into<End>,
        delay: Duration,
    ) -> Result<(), ClusterError> {
        self.directions.delay(a.into(), b.into(), delay)
    }

    /// Ends all cuts and delays.
    pub fn heal(&self) {
        self.directions.heal();
    }

    /// Takes the metadata store away from all nodes for `duration`, as if all its servers were
    /// down. The store ends no session meanwhile. A second call replaces the end of the first
    /// outage.
    pub fn lose_store(&self, duration: Duration) {
        let number = self.outages.fetch_add(1, Ordering::Relaxed);
        self.outage.send_modify(|current| {
            *current = Some(number);
            for node in &self.nodes {
                node.link().interrupt(Outage::StoreLost);
            }
        });
        let (nodes, outage) = (self.nodes.clone(), self.outage.clone());
        drop(self.runtime.spawn(async move {
            sleep(duration).await;
            outage.send_if_modified(|current| {
                let is_current = *current == Some(number);
                if is_current {
                    *current = None;
                    // Restore the links before the change is published: a node that waits for the
                    // end of the outage then finds the store within reach.
                    for node in &nodes {
                        node.link().restore(Outage::StoreLost);
                    }
                }
                is_current
            });
        }));
    }

    /// Waits until the metadata store can be reached; returns false after `within` in vain.
    pub fn wait_for_store(&self, within: Duration) -> bool {
        let mut outage = self.outage.subscribe();
        let reachable = outage.wait_for(Option::is_none);
        self.runtime.block_on(async { timeout(within, reachable).await.is_ok() })
    }

    /// Waits until all nodes are registered, and all replicas of all partitions are in sync.
    ///
    /// # Errors
    /// [`ClusterError::NotInSync`] if that takes longer than `within`. It names the first node that
    /// is not registered or lacks records.
    pub fn wait_in_sync(&self, within: Duration) -> Result<(), ClusterError> {
        let mut lacking = None;
        let waiting = async {
            let changes = self.observer.watch(&["/"]).await.map_err(MetadataError::from)?;
            loop {
                let image = self.image().await?;
                lacking = self.lacking(&image);
                if lacking.is_none() {
                    return Ok(());
                }
                changes.next().await;
            }
        };
        let waited = self.runtime.block_on(async { timeout(within, waiting).await });
        waited.unwrap_or_else(|_elapsed| {
            let lacking = lacking.unwrap_or_default();
            Err(ClusterError::NotInSync { within, lacking })
        })
    }

    /// The node that leads a partition; `None` while there is no live leader.
    ///
    /// # Errors
    /// [`ClusterError::NoSuchPartition`].
    pub fn leader(&self, topic: &str, partition: i32) -> Result<Option<usize>, ClusterError> {
        let image = self.runtime.block_on(self.image())?;
        let name = topic.parse::<TopicName>().ok();
        let found = name.and_then(|name| image.partition(&name, PartitionIndex(partition)));
        let Some(found) = found else {
            return Err(ClusterError::NoSuchPartition { topic: topic.to_owned(), partition });
        };
        Ok(image.live_leader(found).and_then(|BrokerId(leader)| usize::try_from(leader).ok()))
    }

    /// The metadata as it is now.
    async fn image(&self) -> Result<Arc<Image>, ClusterError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = Arc::new(self.observer.another());
        let nobody = BrokerId(i32::MAX);
        let read = Metadata::open(store, clock, nobody, None, MetadataConfig::default()).await?;
        let image = Arc::clone(&read.image().borrow());
        Ok(image)
    }

    /// The first broker that is not registered, or partition that lacks replicas.
    fn lacking(&self, image: &Image) -> Option<String> {
        let ids = self.nodes.iter().zip(0..).map(|(_, id)| BrokerId(id));
        let mut absent = ids.filter(|id| image.broker(*id).is_none());
        if let Some(absent) = absent.next() {
            return Some(format!("node {absent} is not registered"));
        }
        image.topics().find_map(|topic| {
            topic.numbered().find_map(|(number, partition)| {
                let mut replicas = partition.replicas.iter();
                let out = replicas.find(|replica| !image.may_take_over(partition, **replica))?;
                Some(format!("node {out} lacks records of {}-{number}", topic.name))
            })
        })
    }

    /// Ends the current session of a node after its time-out, unless `cancelled` before. The store
    /// does not count time while it is lost.
    fn expire_later(&self, node: &Node, cancelled: CancellationToken) {
        let Some(session) = node.link().session() else { return };
        let (session_timeout, mut outage) = (self.session_timeout, self.outage.subscribe());
        let expiring = async move {
            loop {
                if outage.wait_for(Option::is_none).await.is_err() {
                    return;
                }
                let is_lost = outage.wait_for(Option::is_some);
                if timeout(session_timeout, is_lost).await.is_err() {
                    return session.expire();
                }
            }
        };
        drop(self.runtime.spawn(async move {
            cancelled.run_until_cancelled(expiring).await;
        }));
    }

    fn node(&self, node: usize) -> Result<&Arc<Node>, ClusterError> {
        let count = self.len();
        self.nodes.get(node).ok_or(ClusterError::NoSuchNode { node, count })
    }
}

impl fmt::Debug for LocalCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalCluster").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        thread::scope(|scope| {
            for node in &self.nodes {
                // Fails only if the node does not run.
                scope.spawn(|| node.crash(Crash::Killed).ok());
            }
        });
    }
}

/// The settings that all nodes have in common.
fn common_config(settings: &[(&str, &str)]) -> Result<BrokerConfig, ConfigError> {
    let own = settings.iter().filter(|(name, _)| OWN.contains(name));
    let refuse = |(name, _): &(&str, &str)| Fault {
        key: (*name).to_owned(),
        reason: "each node of a cluster in this process has its own".to_owned(),
    };
    ConfigError::from_faults(own.map(refuse).collect())?;
    let mut config = BrokerConfig::default();
    config.set_sources([DEFAULTS.to_vec(), settings.to_vec()])?;
    Ok(config)
}

fn node_config(common: BrokerConfig, index: usize, address: SocketAddr) -> BrokerConfig {
    let id = i32::try_from(index).unwrap_or(i32::MAX);
    BrokerConfig {
        listeners: Listener::alone(address.ip().to_string(), address.port()),
        engine: EngineConfig { data_dir: "/data".into(), broker_id: BrokerId(id), ..common.engine },
        ..common
    }
}
