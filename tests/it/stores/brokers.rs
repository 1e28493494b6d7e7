//! Brokers whose metadata is in a real ZooKeeper.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::io::SystemClock;
use streamlog::metadata::{Store, ZooKeeperAddress, ZooKeeperStore};
use streamlog::wire::ErrorCode;
use streamlog::wire::delete_topics::DeleteTopicsRequest;
use tempfile::TempDir;

use crate::support::{
    BrokerProcess, Connection, Proxy, TOPIC, ZooKeeper, ZooKeeperEnsemble, batch, commit,
    create_topic, find_coordinator, set_topic, stored, topic_setting,
};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// Data directories for the brokers of a test.
struct Directories(TempDir);

impl Directories {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Starts a broker on the tree at `zookeeper`.
fn start(data: &Path, zookeeper: &str, settings: &[&str]) -> Result<BrokerProcess, String> {
    BrokerProcess::start(data, settings, |command| {
        command.args(["--zookeeper", zookeeper]);
    })
}

fn tree(server: &ZooKeeper) -> String {
    server.tree("/streamlog").to_string()
}

/// Appends a batch with this number, once the partition is led.
fn append(client: &mut Connection, number: u64) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match client.produce(batch([number]), -1).unwrap() {
            Ok(offset) => return offset,
            Err(error) => assert!(Instant::now() < deadline, "{error:?}"),
        }
    }
}

fn numbers(client: &mut Connection) -> Vec<u64> {
    client.read_from(0).unwrap().into_iter().map(|(_, number)| number).collect()
}

/// Waits until a node has been deleted.
#[tokio::main(flavor = "current_thread")]
async fn await_absence(tree: ZooKeeperAddress, path: &str) {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let watch = store.watch(&[path]).await.unwrap();
    while store.get(path).await.unwrap().is_some() {
        tokio::time::timeout(PATIENCE, watch.next()).await.unwrap();
    }
}

fn delete(client: &mut Connection, name: &str) -> ErrorCode {
    let topic_names = vec![name.to_owned()];
    let request = DeleteTopicsRequest { topic_names, timeout_ms: 9000, ..Default::default() };
    client.call(5, &request).unwrap().responses[0].error_code
}

#[test]
fn a_broker_on_zookeeper_serves_records_groups_topics_and_settings_through_kills_and_restarts() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let data = dirs.path("one");
    let mut broker = start(&data, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    for round in 0..4 {
        let mut client = broker.connect();
        assert_eq!(append(&mut client, round), i64::try_from(round).unwrap());
        assert_eq!(numbers(&mut client), (0..=round).collect::<Vec<_>>());
        find_coordinator(&mut client, "group");
        commit(&mut client, "group", i64::try_from(round).unwrap());
        assert_eq!(create_topic(&mut client, "other", 3).0, ErrorCode::None);
        assert_eq!(create_topic(&mut client, "other", 3).0, ErrorCode::TopicAlreadyExists);
        assert_eq!(delete(&mut client, "other"), ErrorCode::None);
        let retention = (round + 100_000).to_string();
        assert_eq!(set_topic(&mut client, "retention.ms", &retention).0, ErrorCode::None);
        drop(client);
        if round % 2 == 0 {
            // Killed. Its registration stays in ZooKeeper for a while.
            drop(broker);
        } else {
            assert!(broker.stop().success());
        }
        broker = start(&data, &tree(&server), &[]).unwrap();
        let mut client = broker.connect();
        assert_eq!(stored(&mut client, "group"), Ok(i64::try_from(round).unwrap()));
        assert_eq!(topic_setting(&mut client, TOPIC, "retention.ms").0, retention);
    }
    assert_eq!(numbers(&mut broker.connect()), [0, 1, 2, 3]);
    assert!(broker.stop().success());
}

#[test]
fn a_stopped_directory_is_sound_and_says_that_its_metadata_is_in_zookeeper() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let data = dirs.path("one");
    let broker = start(&data, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    append(&mut broker.connect(), 7);
    assert!(broker.stop().success());

    let offline = |verb: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
        command.args(["log", verb]).arg(&data).output().unwrap()
    };
    let verified = offline("verify");
    assert!(verified.status.success(), "{verified:?}");
    // Otherwise the broker would be offered a journal of its own, apart from its cluster.
    let said = |stderr: &[u8]| String::from_utf8_lossy(stderr).contains("is in ZooKeeper");
    let rebuilt = offline("rebuild-metadata");
    assert!(!rebuilt.status.success() && said(&rebuilt.stderr), "{rebuilt:?}");
    let refusal = BrokerProcess::start(&data, &[], |_| {}).err().unwrap();
    assert!(said(refusal.as_bytes()), "{refusal}");
    let broker = start(&data, &tree(&server), &[]).unwrap();
    assert_eq!(numbers(&mut broker.connect()), [7]);
}

#[test]
fn a_broker_whose_session_was_ended_registers_again_and_goes_on() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let proxy = Proxy::before(server.socket());
    let address = format!("{}/streamlog", proxy.address());
    let broker =
        start(&dirs.path("one"), &address, &["zookeeper.session.timeout.ms=1000"]).unwrap();
    broker.make_test_topic();
    let mut client = broker.connect();
    assert_eq!(append(&mut client, 0), 0);
    proxy.cut();
    broker.await_log("the metadata store cannot be reached");
    assert_eq!(append(&mut client, 1), 1, "records do not need ZooKeeper");
    assert_eq!(create_topic(&mut client, "other", 3).0, ErrorCode::RequestTimedOut);
    // Until the server has ended the session.
    await_absence(server.tree("/streamlog"), "/brokers/ids/1");
    proxy.restore();
    broker.await_log("is registered again");
    assert_eq!(append(&mut client, 2), 2);
    assert_eq!(numbers(&mut client), [0, 1, 2]);
    assert_eq!(create_topic(&mut client, "other", 3).0, ErrorCode::None);
    assert!(broker.stop().success());
}

#[test]
fn a_broker_outlives_the_leader_of_an_ensemble() {
    let (mut ensemble, dirs) = (ZooKeeperEnsemble::start(), Directories::new());
    let tree = ensemble.tree("/streamlog").to_string();
    let broker = start(&dirs.path("one"), &tree, &[]).unwrap();
    broker.make_test_topic();
    let mut client = broker.connect();
    assert_eq!(append(&mut client, 0), 0);
    let killed = ensemble.kill_leader();
    assert_eq!(append(&mut client, 1), 1, "records do not need ZooKeeper");
    let deadline = Instant::now() + PATIENCE;
    // While the other two elect a leader, the outcome of an attempt may be unknown.
    let mut outcome = create_topic(&mut client, "other", 3).0;
    while !matches!(outcome, ErrorCode::None | ErrorCode::TopicAlreadyExists) {
        assert!(Instant::now() < deadline, "without {killed}: {outcome:?}");
        outcome = create_topic(&mut client, "other", 3).0;
    }
    assert_eq!(delete(&mut client, "other"), ErrorCode::None);
    assert!(broker.stop().success());
    let broker = start(&dirs.path("one"), &tree, &[]).unwrap();
    assert_eq!(numbers(&mut broker.connect()), [0, 1]);
    assert!(broker.stop().success());
}

#[test]
fn a_broker_that_cannot_reach_zookeeper_says_so_and_goes_on_when_it_can() {
    let (mut server, dirs) = (ZooKeeper::start(), Directories::new());
    let (data, address) = (dirs.path("one"), tree(&server));
    server.kill();
    let waiting = thread::spawn({
        let (data, address) = (data.clone(), address.clone());
        move || start(&data, &address, &[])
    });
    let log = data.with_extension("log");
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&log).is_ok_and(|log| log.contains("cannot be reached")) {
        assert!(Instant::now() < deadline, "it says nothing");
        thread::sleep(Duration::from_millis(20));
    }
    server.restart();
    let broker = waiting.join().unwrap().unwrap();
    broker.make_test_topic();
    assert!(broker.stop().success());
}

#[test]
fn a_second_broker_with_the_same_number_is_refused_and_the_first_is_unharmed() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    // The second one waits in case the first has ended.
    let session = ["zookeeper.session.timeout.ms=2000"];
    let first = start(&dirs.path("one"), &tree(&server), &session).unwrap();
    first.make_test_topic();
    let log = start(&dirs.path("two"), &tree(&server), &session).err().unwrap();
    assert!(log.contains("broker id 1 is in use by the broker at 127.0.0.1:"), "{log}");
    let mut client = first.connect();
    assert_eq!(append(&mut client, 0), 0);
    assert_eq!(create_topic(&mut client, "other", 3).0, ErrorCode::None);
    assert!(first.stop().success());
}

#[test]
fn a_broker_on_a_copy_of_the_directory_of_a_live_one_is_refused_and_the_first_is_unharmed() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let (data, copy) = (dirs.path("one"), dirs.path("copy"));
    let first = start(&data, &tree(&server), &[]).unwrap();
    first.make_test_topic();
    let mut client = first.connect();
    assert_eq!(append(&mut client, 7), 0);
    // A small file may be replaced while it is copied: then `cp` fails, and copies the others.
    Command::new("cp").arg("-a").args([&data, &copy]).status().unwrap();
    assert!(copy.join("meta.properties").exists());
    let log = start(&copy, &tree(&server), &[]).err().unwrap();
    assert!(log.contains("broker id 1 is in use by the broker at 127.0.0.1:"), "{log}");
    assert_eq!(append(&mut client, 8), 1);
    assert_eq!(numbers(&mut client), [7, 8]);
    assert!(first.stop().success());
}

#[test]
fn a_directory_with_logs_is_not_taken_to_an_empty_tree_or_to_another_cluster() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let data = dirs.path("one");
    let broker = start(&data, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    assert_eq!(append(&mut broker.connect(), 7), 0);
    assert!(broker.stop().success());

    let log = start(&data, &server.tree("/empty").to_string(), &[]).err().unwrap();
    assert!(log.contains("there is no cluster in ZooKeeper"), "{log}");
    let another = server.tree("/another").to_string();
    let other = start(&dirs.path("two"), &another, &[]).unwrap();
    assert!(other.stop().success());
    let log = start(&data, &another, &[]).err().unwrap();
    assert!(log.contains("cluster"), "{log}");

    let broker = start(&data, &tree(&server), &[]).unwrap();
    assert_eq!(numbers(&mut broker.connect()), [7]);
    // Another directory joins the cluster that is there.
    assert!(broker.stop().success());
    let joined = start(&dirs.path("three"), &tree(&server), &["broker.id=3"]).unwrap();
    assert!(joined.stop().success());
}

#[test]
fn a_broker_on_an_older_copy_of_its_disk_does_not_lead_without_the_records_written_since() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let (disk, backup) = (dirs.path("disk"), dirs.path("backup"));
    let broker = start(&disk, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    assert_eq!(append(&mut broker.connect(), 7), 0);
    assert!(broker.stop().success());
    let copied = Command::new("cp").arg("-a").args([&disk, &backup]).status().unwrap();
    assert!(copied.success());
    let broker = start(&disk, &tree(&server), &[]).unwrap();
    assert_eq!(append(&mut broker.connect(), 8), 1);
    assert!(broker.stop().success());

    // Starts that are refused once they have opened the copy do not make it newer.
    for _ in 0..2 {
        let elsewhere = server.tree("/elsewhere").to_string();
        let refusal = start(&backup, &elsewhere, &[]).map(drop).unwrap_err();
        assert!(refusal.contains("there is no cluster in ZooKeeper"), "{refusal}");
    }
    for _ in 0..2 {
        let broker = start(&backup, &tree(&server), &[]).unwrap();
        let refused = broker.connect().produce(batch([9]), -1).unwrap();
        assert_eq!(refused, Err(ErrorCode::NotLeaderOrFollower));
        assert!(broker.stop().success());
    }
    let log = fs::read_to_string(backup.with_extension("log")).unwrap();
    assert!(log.contains("is an older copy of the data directory of broker 1"), "{log}");

    let broker = start(&disk, &tree(&server), &[]).unwrap();
    let mut client = broker.connect();
    assert_eq!(append(&mut client, 9), 2);
    assert_eq!(numbers(&mut client), [7, 8, 9]);
    assert!(broker.stop().success());
}

#[test]
fn an_older_copy_that_returns_after_another_disk_does_not_lead() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let (disk, backup, other) = (dirs.path("disk"), dirs.path("backup"), dirs.path("other"));
    let broker = start(&disk, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    assert_eq!(append(&mut broker.connect(), 7), 0);
    assert!(broker.stop().success());
    let copied = Command::new("cp").arg("-a").args([&disk, &backup]).status().unwrap();
    assert!(copied.success());
    let broker = start(&disk, &tree(&server), &[]).unwrap();
    assert_eq!(append(&mut broker.connect(), 8), 1);
    assert!(broker.stop().success());

    // The disk was not mounted, and the broker registers with an empty directory.
    assert!(start(&other, &tree(&server), &[]).unwrap().stop().success());
    let broker = start(&backup, &tree(&server), &[]).unwrap();
    broker.await_log("is an older copy of the data directory of broker 1");
    let refused = broker.connect().produce(batch([9]), -1).unwrap();
    assert_eq!(refused, Err(ErrorCode::NotLeaderOrFollower));
    assert!(broker.stop().success());

    let broker = start(&disk, &tree(&server), &[]).unwrap();
    let mut client = broker.connect();
    assert_eq!(append(&mut client, 9), 2);
    assert_eq!(numbers(&mut client), [7, 8, 9]);
    assert!(broker.stop().success());
}

#[test]
fn a_broker_on_a_new_disk_does_not_lead_partitions_whose_records_it_lacks() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    let (old, new) = (dirs.path("old"), dirs.path("new"));
    let broker = start(&old, &tree(&server), &[]).unwrap();
    broker.make_test_topic();
    assert_eq!(append(&mut broker.connect(), 7), 0);
    assert!(broker.stop().success());

    let broker = start(&new, &tree(&server), &[]).unwrap();
    broker.await_log("has no leader");
    let refused = broker.connect().produce(batch([8]), -1).unwrap();
    assert_eq!(refused, Err(ErrorCode::NotLeaderOrFollower));
    assert!(broker.stop().success());

    let broker = start(&old, &tree(&server), &[]).unwrap();
    let mut client = broker.connect();
    assert_eq!(append(&mut client, 8), 1);
    assert_eq!(numbers(&mut client), [7, 8]);
    assert!(broker.stop().success());
}

#[test]
fn brokers_that_start_together_on_an_empty_tree_join_one_cluster() {
    let (server, dirs) = (ZooKeeper::start(), Directories::new());
    for round in 0..3 {
        let tree = server.tree(&format!("/streamlog-{round}")).to_string();
        let data = [1, 2, 3].map(|id| (id, dirs.path(&format!("{round}-{id}"))));
        let started = thread::scope(|scope| {
            let starts = data.each_ref().map(|(id, data)| {
                let (tree, id) = (&tree, format!("broker.id={id}"));
                scope.spawn(move || start(data, tree, &[&id]))
            });
            starts.map(|start| start.join().unwrap())
        });
        for (broker, (id, _)) in started.into_iter().zip(&data) {
            broker.unwrap_or_else(|error| panic!("round {round}, broker {id}: {error}"));
        }
    }
}
