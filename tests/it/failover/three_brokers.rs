//! Three broker processes on a ZooKeeper of their own, with their data below one directory.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use streamlog::client::{Client, ClientConfig, NewTopic};
use streamlog::wire::metadata::{MetadataRequest, Partition, RequestTopic};
use tempfile::TempDir;

use crate::support::{BrokerProcess, Proxy, ZooKeeper, ZooKeeperEnsemble};

/// The longest wait for the cluster to settle.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The numbers of the brokers.
pub(super) const IDS: [i32; 3] = [1, 2, 3];

/// The cluster; its processes are killed when dropped.
pub(super) struct ThreeBrokers {
    store: MetadataStore,
    dir: TempDir,
    /// The running brokers, in the order of their numbers.
    brokers: [Option<BrokerProcess>; 3],
    /// The addresses at which they listen, once they have been started.
    addresses: [SocketAddr; 3],
    settings: Vec<String>,
    _alone: MutexGuard<'static, ()>,
}

/// The metadata store of the brokers.
enum MetadataStore {
    Server {
        server: ZooKeeper,
        /// The ways of the brokers to the server, in the order of their numbers.
        ways: [Proxy; 3],
    },
    /// Three servers, of which each broker knows all.
    Ensemble(ZooKeeperEnsemble),
}

impl MetadataStore {
    fn server() -> Self {
        let server = ZooKeeper::start();
        let ways = IDS.map(|_| Proxy::before(server.socket()));
        Self::Server { server, ways }
    }

    /// The address at which a broker reaches it.
    fn tree(&self, id: i32) -> String {
        match self {
            Self::Server { ways, .. } => format!("{}/streamlog", ways[slot(id)].address()),
            Self::Ensemble(servers) => servers.tree("/streamlog").to_string(),
        }
    }
}

/// Held by the only cluster of this process: several would take the processors from tests beside
/// them, whose sessions with other servers would expire.
static ALONE: Mutex<()> = Mutex::new(());

impl ThreeBrokers {
    /// Starts all three, each with these settings.
    pub(super) fn start(settings: &[&str]) -> Self {
        Self::start_on(MetadataStore::server, settings)
    }

    /// Starts all three on three ZooKeeper servers.
    pub(super) fn start_on_ensemble(settings: &[&str]) -> Self {
        Self::start_on(|| MetadataStore::Ensemble(ZooKeeperEnsemble::start()), settings)
    }

    fn start_on(store: impl FnOnce() -> MetadataStore, settings: &[&str]) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, dir) = (store(), TempDir::new().unwrap());
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let brokers = [None, None, None];
        let addresses = [SocketAddr::from(([127, 0, 0, 1], 0)); 3];
        let mut cluster = Self { store, dir, brokers, addresses, settings, _alone: alone };
        for id in IDS {
            cluster.start_broker(id);
        }
        // A topic is placed on the brokers that the asked one knows.
        for id in IDS {
            cluster.await_registered(id, &IDS);
        }
        cluster
    }

    /// Starts a broker that does not run, at the address that it had before.
    pub(super) fn start_broker(&mut self, id: i32) {
        let (address, data) = (self.addresses[slot(id)], self.data(id));
        let broker = self.start_process(id, address, &data).unwrap();
        self.addresses[slot(id)] = broker.address();
        self.brokers[slot(id)] = Some(broker);
    }

    fn start_process(
        &self,
        id: i32,
        address: SocketAddr,
        data: &Path,
    ) -> Result<BrokerProcess, String> {
        let tree = self.store.tree(id);
        let number = format!("broker.id={id}");
        let session = "zookeeper.session.timeout.ms";
        let mut settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        settings.push(&number);
        let default = format!("{session}=3000");
        if !settings.iter().any(|setting| setting.starts_with(session)) {
            settings.push(&default);
        }
        let on_zookeeper = |command: &mut Command| {
            command.args(["--zookeeper", &tree]);
        };
        BrokerProcess::start_at(address, data, &settings, on_zookeeper)
    }

    /// Starts another process as a broker, on another directory; returns its log if it ends.
    pub(super) fn start_another(&self, id: i32, data: &Path) -> Result<BrokerProcess, String> {
        self.start_process(id, SocketAddr::from(([127, 0, 0, 1], 0)), data)
    }

    /// Removes the data of a broker that does not run.
    pub(super) fn empty_disk(&self, id: i32) {
        assert!(!self.runs(id));
        fs::remove_dir_all(self.data(id)).unwrap();
    }

    /// The ZooKeeper of all brokers.
    pub(super) fn zookeeper(&mut self) -> &mut ZooKeeper {
        match &mut self.store {
            MetadataStore::Server { server, .. } => server,
            MetadataStore::Ensemble(_) => panic!("there are three"),
        }
    }

    /// Kills a broker.
    pub(super) fn kill(&mut self, id: i32) {
        assert!(self.brokers[slot(id)].take().is_some(), "broker {id} does not run");
    }

    /// Stops a broker in order.
    pub(super) fn stop(&mut self, id: i32) {
        let broker = self.brokers[slot(id)].take().unwrap();
        assert!(broker.stop().success());
    }

    /// The ZooKeeper servers of a cluster on an ensemble.
    pub(super) fn ensemble(&mut self) -> &mut ZooKeeperEnsemble {
        match &mut self.store {
            MetadataStore::Server { .. } => panic!("there is one"),
            MetadataStore::Ensemble(servers) => servers,
        }
    }

    /// A running broker.
    pub(super) fn broker(&self, id: i32) -> &BrokerProcess {
        self.brokers[slot(id)].as_ref().unwrap()
    }

    /// True if a broker runs.
    pub(super) fn runs(&self, id: i32) -> bool {
        self.brokers[slot(id)].is_some()
    }

    /// One of the running brokers.
    pub(super) fn any_broker(&self) -> &BrokerProcess {
        self.brokers.iter().flatten().next().unwrap()
    }

    /// The way of a broker to the server.
    pub(super) fn way(&self, id: i32) -> &Proxy {
        match &self.store {
            MetadataStore::Server { ways, .. } => &ways[slot(id)],
            MetadataStore::Ensemble(_) => panic!("each broker knows all servers"),
        }
    }

    /// A client that knows the running brokers.
    pub(super) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    /// A client that knows the running brokers, with other settings.
    pub(super) fn client_with(&self, change: impl FnOnce(&mut ClientConfig)) -> Client {
        let running = self.brokers.iter().flatten();
        let bootstrap = running.map(|broker| broker.address().to_string().parse().unwrap());
        let mut config = ClientConfig { bootstrap: bootstrap.collect(), ..ClientConfig::default() };
        change(&mut config);
        Client::connect(config).unwrap()
    }

    /// Creates a topic whose partitions have a replica on each broker, and waits until all are in
    /// sync.
    pub(super) fn make_topic(&self, name: &str, partitions: i32) {
        let topic = NewTopic { partitions: Some(partitions), replicas: Some(3), configs: vec![] };
        self.client().admin().create_topic(name, &topic).unwrap();
        self.await_in_sync(name, &IDS);
    }

    /// Creates a topic with a single replica, on a certain broker, and returns its name.
    pub(super) fn make_single(&self, name: &str, broker: i32) -> String {
        for number in 0..10 {
            let name = format!("{name}-{number}");
            let topic = NewTopic { partitions: Some(1), replicas: Some(1), configs: vec![] };
            self.client().admin().create_topic(&name, &topic).unwrap();
            if self.leader(&name) == broker {
                return name;
            }
        }
        panic!("broker {broker} is given no partition");
    }

    /// Has something happen, and waits until no broker has a lease any more.
    pub(super) fn lose_leases<T>(&mut self, happen: impl FnOnce(&mut Self) -> T) -> T {
        let lost = |cluster: &Self| {
            let words = "has not confirmed the registration of this broker";
            IDS.map(|id| cluster.log(id).matches(words).count())
        };
        let (before, deadline) = (lost(self), Instant::now() + PATIENCE);
        let happened = happen(self);
        while lost(self).iter().zip(before).any(|(now, before)| *now == before) {
            assert!(Instant::now() < deadline, "the leases last on\n{}", self.logs());
            thread::sleep(Duration::from_millis(20));
        }
        happened
    }

    /// The partitions of a topic as the first running broker describes them.
    pub(super) fn partitions(&self, topic: &str) -> Vec<Partition> {
        partitions_by(self.any_broker(), topic)
    }

    /// The partitions of a topic as a broker describes them.
    pub(super) fn partitions_seen_by(&self, id: i32, topic: &str) -> Vec<Partition> {
        partitions_by(self.broker(id), topic)
    }

    /// Waits until a broker knows exactly these as registered.
    pub(super) fn await_registered(&self, id: i32, ids: &[i32]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let request = MetadataRequest::default();
            let answer = self.broker(id).connect().call(9, &request).unwrap();
            let mut registered: Vec<i32> = answer.brokers.iter().map(|b| b.node_id).collect();
            registered.sort_unstable();
            if registered == ids {
                return;
            }
            assert!(Instant::now() < deadline, "{registered:?}\n{}", self.logs());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The leader of a topic's first partition.
    pub(super) fn leader(&self, topic: &str) -> i32 {
        self.partitions(topic)[0].leader_id
    }

    /// Waits until every partition has a leader and exactly these in-sync replicas, and each of
    /// these knows it. Brokers learn of changes by watches, each in its own time, and one that
    /// becomes the leader decides by what it knows.
    pub(super) fn await_in_sync(&self, topic: &str, ids: &[i32]) {
        for id in ids {
            self.await_seen_by(*id, topic, |partition| {
                let mut members = partition.isr_nodes.clone();
                members.sort_unstable();
                members == ids && ids.contains(&partition.leader_id)
            });
        }
    }

    /// Waits until every partition of a topic is as wanted.
    pub(super) fn await_partitions(&self, topic: &str, wanted: impl Fn(&Partition) -> bool) {
        self.await_description(|| self.partitions(topic), wanted);
    }

    /// As `await_partitions`, in the eyes of a broker.
    pub(super) fn await_seen_by(&self, id: i32, topic: &str, wanted: impl Fn(&Partition) -> bool) {
        self.await_description(|| self.partitions_seen_by(id, topic), wanted);
    }

    fn await_description(
        &self,
        describe: impl Fn() -> Vec<Partition>,
        wanted: impl Fn(&Partition) -> bool,
    ) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let partitions = describe();
            if !partitions.is_empty() && partitions.iter().all(&wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "{partitions:?}\n{}", self.logs());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops all brokers, and asserts that all replicas of a topic have the same logs.
    pub(super) fn assert_identical_logs(&mut self, topic: &str, partitions: i32) {
        for id in IDS {
            self.stop(id);
        }
        for partition in 0..partitions {
            let logs = IDS.map(|id| self.log_bytes(id, topic, partition));
            assert!(!logs[0].is_empty(), "partition {partition}");
            assert!(logs[1..].iter().all(|log| *log == logs[0]), "partition {partition} differs");
        }
    }

    /// The bytes of the log of a partition on a broker, segment after segment.
    pub(super) fn log_bytes(&self, id: i32, topic: &str, partition: i32) -> Vec<u8> {
        let folder = self.data(id).join(format!("{topic}-{partition}"));
        let is_segment = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "log");
        loop {
            let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let mut segments: Vec<PathBuf> = entries.filter(is_segment).collect();
            segments.sort();
            match segments.iter().map(fs::read).collect::<io::Result<Vec<_>>>() {
                Ok(bytes) => return bytes.concat(),
                // Compaction has removed a segment since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound && self.runs(id) => {}
                Err(error) => panic!("{}: {error}", folder.display()),
            }
        }
    }

    /// Flips a bit in the middle of the first segment of a partition, in place.
    pub(super) fn flip_a_bit(&self, id: i32, topic: &str, partition: i32) {
        let segment = format!("{topic}-{partition}/{:020}.log", 0);
        let segment = File::options().read(true).write(true).open(self.data(id).join(segment));
        let segment = segment.unwrap();
        let middle = segment.metadata().unwrap().len() / 2;
        let mut byte = [0];
        segment.read_exact_at(&mut byte, middle).unwrap();
        segment.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    }

    /// Removes all segments of a partition, with their indexes, on a broker that does not run.
    pub(super) fn remove_segments(&self, id: i32, topic: &str, partition: i32) {
        assert!(!self.runs(id));
        let files = fs::read_dir(self.data(id).join(format!("{topic}-{partition}"))).unwrap();
        let paths = files.map(|entry| entry.unwrap().path());
        // Their names begin with the offset of the first record.
        let is_of_segment = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.len() == 20);
        for path in paths.filter(is_of_segment) {
            fs::remove_file(path).unwrap();
        }
    }

    /// Removes the first segment of a partition on a broker that does not run.
    pub(super) fn remove_segment(&self, id: i32, topic: &str, partition: i32) {
        assert!(!self.runs(id));
        let segment = format!("{topic}-{partition}/{:020}.log", 0);
        fs::remove_file(self.data(id).join(segment)).unwrap();
    }

    /// Cuts the only segment of a partition in half on a broker that does not run.
    pub(super) fn cut_in_half(&self, id: i32, topic: &str, partition: i32) {
        assert!(!self.runs(id));
        let segment = format!("{topic}-{partition}/{:020}.log", 0);
        let segment = File::options().write(true).open(self.data(id).join(segment)).unwrap();
        segment.set_len(segment.metadata().unwrap().len() / 2).unwrap();
    }

    /// Waits until a broker has recorded that a partition is durable up to an offset.
    pub(super) fn await_durable(&self, id: i32, topic: &str, partition: i32, offset: u64) {
        self.await_recorded("durable-point-checkpoint", id, (topic, partition, offset));
    }

    /// Waits until a checkpoint of a broker has an offset of a partition.
    pub(super) fn await_recorded(
        &self,
        checkpoint: &str,
        id: i32,
        (topic, partition, offset): (&str, i32, u64),
    ) {
        let (deadline, row) = (Instant::now() + PATIENCE, format!("{topic} {partition} {offset}"));
        let checkpoint = self.data(id).join(checkpoint);
        let rows = || fs::read_to_string(&checkpoint).unwrap_or_default();
        while !rows().lines().any(|known| known == row) {
            assert!(Instant::now() < deadline, "{row}: {}", rows());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The log of a broker, over all its processes.
    pub(super) fn log(&self, id: i32) -> String {
        fs::read_to_string(self.data(id).with_extension("log")).unwrap_or_default()
    }

    /// Waits until a broker has logged these words.
    pub(super) fn await_logged(&self, id: i32, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log(id).contains(words) {
            assert!(Instant::now() < deadline, "'{words}' is not in\n{}", self.log(id));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The logs of all brokers.
    pub(super) fn logs(&self) -> String {
        IDS.map(|id| format!("broker {id}:\n{}", self.log(id))).concat()
    }

    /// The data directory of a broker.
    pub(super) fn data(&self, id: i32) -> PathBuf {
        self.dir.path().join(format!("broker-{id}"))
    }
}

/// The partitions of a topic as a broker describes them; none if it does not know the topic.
pub(super) fn partitions_by(broker: &BrokerProcess, topic: &str) -> Vec<Partition> {
    let topic = RequestTopic { name: Some(topic.to_owned()), ..Default::default() };
    let topics = Some(vec![topic]);
    let request =
        MetadataRequest { topics, allow_auto_topic_creation: false, ..Default::default() };
    broker.connect().call(9, &request).unwrap().topics.remove(0).partitions
}

/// The brokers but for `id`.
pub(super) fn others(id: i32) -> Vec<i32> {
    IDS.into_iter().filter(|other| *other != id).collect()
}

fn slot(id: i32) -> usize {
    usize::try_from(id - 1).unwrap()
}
