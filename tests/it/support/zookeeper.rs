//! ZooKeeper servers as processes, from the jars of an installed PySpark; and all brokers on them.
//!
//! With `STREAMLOG_ON_ZOOKEEPER`, each [`LocalBroker`](super::LocalBroker) keeps its metadata in a
//! server that the tests of this process share, so that their facts are those of both stores.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use streamlog::io::faulty::FaultyDisk;
use streamlog::io::read_text;
use streamlog::metadata::ZooKeeperAddress;
use tempfile::TempDir;

use super::broker_process::Pause;

/// The longest wait for a server.
const PATIENCE: Duration = Duration::from_mins(1);
/// The jars that a server needs, by the beginnings of their names.
const JARS: [&str; 5] =
    ["zookeeper-3", "zookeeper-jute-", "metrics-core-", "slf4j-api-", "snappy-java-"];
/// Runs a server until the pipe to its standard input is closed, at the latest by the end of the
/// process that runs the tests.
const GUARD: &str = "\"$@\" & cat >/dev/null; kill -KILL $!; wait $!";
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// A server that can be killed and started again on the same data; killed when dropped.
pub(crate) struct ZooKeeper {
    dir: TempDir,
    address: SocketAddr,
    process: Option<Child>,
}

impl ZooKeeper {
    /// Starts a server with empty data, and waits until it answers.
    pub(crate) fn start() -> Self {
        let mut server = Self::configured(TempDir::new().unwrap(), "");
        server.restart();
        server
    }

    /// A server that is not started, with its files in `dir`, and these settings besides its own.
    fn configured(dir: TempDir, settings: &str) -> Self {
        let address = free_address();
        let config = format!(
            "tickTime=300\nmaxSessionTimeout=60000\ndataDir={}\nclientPort={}\n\
             clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n{settings}",
            dir.path().join("data").display(),
            address.port()
        );
        fs::write(dir.path().join("zoo.cfg"), config).unwrap();
        Self { dir, address, process: None }
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    }

    /// Stops the process of the server without ending it, until the returned value is dropped.
    pub(crate) fn pause(&self) -> Pause {
        let shell = self.process.as_ref().unwrap().id();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = fs::read_to_string(children).unwrap();
        let server = |child: &&str| {
            let words = fs::read_to_string(format!("/proc/{child}/cmdline"));
            words.is_ok_and(|words| words.contains(MAIN))
        };
        Pause::begin(children.split_whitespace().find(server).unwrap().parse().unwrap())
    }

    /// Starts the server again, on the same address and data.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.launch();
        self.await_answer();
    }

    fn launch(&mut self) {
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut command = Command::new("sh");
        command.args([
            "-c",
            GUARD,
            "sh",
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx128m",
            "-cp",
        ]);
        command.arg(class_path()).arg(MAIN).arg(self.dir.path().join("zoo.cfg"));
        command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(command.spawn().unwrap());
    }

    fn await_answer(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.mode().is_none() {
            let log = || fs::read_to_string(self.log_file()).unwrap();
            assert!(Instant::now() < deadline, "no ZooKeeper; is there Java 17? {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The role of the server, such as `leader`; none if it serves no requests.
    fn mode(&self) -> Option<String> {
        let asked = || {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"srvr")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = asked().ok()?;
        answer.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
    }

    fn log_file(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// The socket of the server.
    pub(crate) fn socket(&self) -> SocketAddr {
        self.address
    }

    /// The address of a tree in the server.
    pub(crate) fn tree(&self, chroot: &str) -> ZooKeeperAddress {
        format!("{}{chroot}", self.address).parse().unwrap()
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Servers that elect a leader among them.
pub(crate) struct ZooKeeperEnsemble {
    servers: Vec<ZooKeeper>,
}

impl ZooKeeperEnsemble {
    /// Starts three servers, and waits until each of them answers.
    pub(crate) fn start() -> Self {
        let members = (1..=3).map(|id| {
            let [quorum, election] = [(); 2].map(|()| free_address().port());
            format!("server.{id}=127.0.0.1:{quorum}:{election}\n")
        });
        let settings = format!("initLimit=20\nsyncLimit=10\n{}", members.collect::<String>());
        let server = |id: usize| {
            let dir = TempDir::new().unwrap();
            fs::create_dir(dir.path().join("data")).unwrap();
            fs::write(dir.path().join("data/myid"), id.to_string()).unwrap();
            let mut server = ZooKeeper::configured(dir, &settings);
            server.launch();
            server
        };
        let servers: Vec<_> = (1..=3).map(server).collect();
        servers.iter().for_each(ZooKeeper::await_answer);
        Self { servers }
    }

    /// Kills the leader, and returns its address.
    pub(crate) fn kill_leader(&mut self) -> SocketAddr {
        let is_leader = |server: &&mut ZooKeeper| server.mode().as_deref() == Some("leader");
        let leader = self.servers.iter_mut().find(is_leader).unwrap();
        leader.kill();
        leader.socket()
    }

    /// The address of a tree in the ensemble.
    pub(crate) fn tree(&self, chroot: &str) -> ZooKeeperAddress {
        let servers: Vec<_> = self.servers.iter().map(|s| s.socket().to_string()).collect();
        format!("{}{chroot}", servers.join(",")).parse().unwrap()
    }
}

/// An address at which nobody listens.
fn free_address() -> SocketAddr {
    // Nobody else asks for a certain port of this machine in the meantime.
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The jars that a server needs.
fn class_path() -> String {
    let jars = jars();
    let mut found = Vec::new();
    for entry in fs::read_dir(&jars).unwrap() {
        let path = entry.unwrap().path();
        let is_jar = path.extension().is_some_and(|extension| extension == "jar");
        let name = path.file_name().unwrap().to_str().unwrap();
        if is_jar && JARS.iter().any(|jar| name.starts_with(jar)) {
            found.push(path.display().to_string());
        }
    }
    assert!(found.len() >= JARS.len(), "{} lacks jars: {found:?}", jars.display());
    found.join(":")
}

/// The directory of PySpark's jars in the environment that `make` sets up.
fn jars() -> PathBuf {
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/lib");
    let pythons = fs::read_dir(&environment).into_iter().flatten();
    let mut jars = pythons.map(|python| python.unwrap().path().join("site-packages/pyspark/jars"));
    let found = jars.find(|jars| jars.is_dir());
    found.unwrap_or_else(|| panic!("no PySpark in {}: run `make check`", environment.display()))
}

/// The settings by which a broker on this disk keeps its metadata in the shared server; none if the
/// tests are on the embedded store.
pub(super) fn shared_tree(disk: &FaultyDisk) -> Option<(&'static str, String)> {
    static SERVER: OnceLock<ZooKeeper> = OnceLock::new();
    std::env::var_os("STREAMLOG_ON_ZOOKEEPER")?;
    let server = SERVER.get_or_init(ZooKeeper::start);
    let chroot = match cluster_of(disk) {
        Some(cluster) => trees().lock().unwrap()[&cluster].clone(),
        None => format!("/{}", number_of_new_tree()),
    };
    Some(("zookeeper.connect", server.tree(&chroot).to_string()))
}

/// Notes the tree of the cluster on this disk, for its next broker.
pub(super) fn note_tree(disk: &FaultyDisk, setting: &str) {
    let chroot = setting.parse::<ZooKeeperAddress>().unwrap().chroot;
    trees().lock().unwrap().insert(cluster_of(disk).unwrap(), chroot);
}

/// The trees of the clusters that have been started in this process, by the ids of the clusters.
fn trees() -> &'static Mutex<BTreeMap<String, String>> {
    static TREES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    &TREES
}

fn number_of_new_tree() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The cluster of the data directory of a test's broker.
fn cluster_of(disk: &FaultyDisk) -> Option<String> {
    let text = read_text(disk, Path::new("/data/meta.properties")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("cluster.id="))?;
    Some(line.to_owned())
}
