//! Nodes in a real ZooKeeper that somebody edits or deletes by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use streamlog::io::SystemClock;
use streamlog::metadata::{Node, Op, Store, ZooKeeperAddress, ZooKeeperStore};
use streamlog::wire::ErrorCode;
use tempfile::TempDir;

use crate::support::{
    BrokerProcess, TOPIC, ZooKeeper, batch, commit, create_topic, find_coordinator, sequenced,
    set_topic, stored,
};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// The values of nodes by their paths.
type Values = BTreeMap<String, String>;

/// Waits until this is so.
fn await_that(mut is_so: impl FnMut() -> bool, otherwise: impl Fn() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{}", otherwise());
        thread::sleep(Duration::from_millis(10));
    }
}

/// A user of ZooKeeper's shell.
struct Shell(ZooKeeperAddress);

impl Shell {
    async fn open(&self) -> ZooKeeperStore {
        let clock = Arc::new(SystemClock);
        ZooKeeperStore::open(self.0.clone(), None, Duration::from_secs(6), clock, None)
            .await
            .unwrap()
    }

    /// The node at `path` and all below it.
    #[tokio::main(flavor = "current_thread")]
    async fn values(&self, path: &str) -> Values {
        let nodes = self.open().await.snapshot(path).await.unwrap().into_iter();
        let text = |node: Node| String::from_utf8(node.value.to_vec()).unwrap();
        nodes.map(|(path, node)| (path, text(node))).collect()
    }

    #[tokio::main(flavor = "current_thread")]
    async fn delete(&self, path: &str) {
        let store = self.open().await;
        let nodes = store.snapshot(path).await.unwrap();
        let deletion = nodes.iter().rev().map(|(path, node)| Op::delete(path, node.version));
        store.multi(deletion.collect()).await.unwrap();
    }

    /// Gives nodes these values, and creates those that do not exist.
    #[tokio::main(flavor = "current_thread")]
    async fn set(&self, values: Values) {
        let store = self.open().await;
        for (path, value) in values {
            let op = match store.get(&path).await.unwrap() {
                Some(node) => Op::set(path, value, node.version),
                None => Op::create(path, value),
            };
            store.multi(vec![op]).await.unwrap();
        }
    }

    /// Creates nodes with these values together.
    #[tokio::main(flavor = "current_thread")]
    async fn restore(&self, values: Values) {
        let creation = values.into_iter().map(|(path, value)| Op::create(path, value));
        self.open().await.multi(creation.collect()).await.unwrap();
    }

    fn set_one(&self, path: &str, value: &str) {
        self.set(Values::from([(path.to_owned(), value.to_owned())]));
    }
}

/// A broker on a ZooKeeper of its own, with a topic and settings of the topic.
struct Edited {
    server: ZooKeeper,
    dir: TempDir,
    broker: Option<BrokerProcess>,
    /// The number of records in the topic.
    records: u64,
}

impl Edited {
    fn start() -> Self {
        let (server, dir) = (ZooKeeper::start(), TempDir::new().unwrap());
        let mut edited = Self { server, dir, broker: None, records: 0 };
        edited.restart();
        edited.broker().make_test_topic();
        let mut client = edited.broker().connect();
        assert_eq!(set_topic(&mut client, "segment.bytes", "4096").0, ErrorCode::None);
        edited.append();
        edited
    }

    fn restart(&mut self) {
        self.restart_with(&[]);
    }

    fn restart_with(&mut self, settings: &[&str]) {
        if let Some(broker) = self.broker.take() {
            assert!(broker.stop().success());
        }
        let tree = self.server.tree("/streamlog").to_string();
        let broker = BrokerProcess::start(&self.data(), settings, |command| {
            command.args(["--zookeeper", &tree]);
        });
        self.broker = Some(broker.unwrap());
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn broker(&self) -> &BrokerProcess {
        self.broker.as_ref().unwrap()
    }

    fn shell(&self) -> Shell {
        Shell(self.server.tree("/streamlog"))
    }

    /// Appends a record as soon as that is possible, and checks all records.
    fn append(&mut self) {
        let mut client = self.broker().connect();
        let sequence = i32::try_from(self.records).unwrap();
        let append = || {
            // A leader of which the epoch ends behind the append may answer with an error: the
            // repetition must be recognized.
            let batch = sequenced([self.records], (1, 0), sequence);
            client.produce(batch, -1).unwrap() == Ok(self.records.cast_signed())
        };
        await_that(append, || format!("the topic is not served:\n{}", self.broker().log()));
        assert_eq!(self.stored(), Some((0..=self.records).collect()));
        self.records += 1;
    }

    /// The records of the topic; `None` if it cannot be read.
    fn stored(&self) -> Option<Vec<u64>> {
        let read = self.broker().connect().read_from(0).ok()?;
        Some(read.into_iter().map(|(_, number)| number).collect())
    }

    /// Waits until a line of the log behind its first `known` bytes has all these words.
    fn await_line(&self, known: usize, words: &[&str]) {
        let log = || self.broker().log().split_off(known);
        let is_there = || log().lines().any(|line| words.iter().all(|words| line.contains(words)));
        await_that(is_there, || format!("no line with {words:?}:\n{}", log()));
    }

    /// Waits until the topic is not served, and the log says so. Other topics are served.
    fn await_stop(&self, known: usize, words: &[&str]) {
        self.await_line(known, words);
        let mut client = self.broker().connect();
        let is_refused = || {
            client.send_fetch(0, Duration::ZERO).unwrap();
            client.receive_records().unwrap().error_code != ErrorCode::None
        };
        await_that(is_refused, || "the topic is served".to_owned());
        self.broker().make_topic("other");
    }
}

fn path(rest: &str) -> String {
    format!("/brokers/topics/{TOPIC}{rest}")
}

#[test]
fn an_unreadable_or_deleted_node_stops_its_topic_and_is_named_until_it_is_restored() {
    let mut edited = Edited::start();
    let (state, partition) = (path("/partitions/0/state"), format!("partition {TOPIC}-0"));
    let (config, topic) = (format!("/config/topics/{TOPIC}"), format!("topic '{TOPIC}'"));
    let cases = [
        (path(""), false, vec![&*topic, "cannot be read"]),
        (state.clone(), false, vec![&*partition, "cannot be read"]),
        (config, false, vec![&*topic, "cannot be read"]),
        (state, true, vec![TOPIC, "/partitions/0", "by hand"]),
    ];
    for (path, is_deleted, words) in cases {
        for is_restarted in [false, true] {
            let known = edited.broker().log().len();
            let mut before = edited.shell().values(&path);
            before.retain(|other, _| *other == path);
            if is_deleted {
                edited.shell().delete(&path);
            } else {
                edited.shell().set_one(&path, "by hand");
            }
            edited.await_stop(known, &words);
            if is_restarted {
                let known = edited.broker().log().len();
                edited.restart();
                edited.await_stop(known, &words);
            }
            edited.shell().set(before);
            edited.append();
        }
    }
    assert!(edited.broker.take().unwrap().stop().success());
}

#[test]
fn a_topic_that_was_deleted_by_hand_keeps_its_log_and_no_broker_from_starting() {
    let mut edited = Edited::start();
    let deleted = edited.shell().values(&path(""));
    edited.shell().delete(&path(""));
    let known = edited.broker().log().len();
    edited.restart();
    edited.await_line(known, &[TOPIC, "left alone", &path("")]);
    edited.broker().make_topic("other");
    edited.shell().restore(deleted);
    edited.append();
    assert!(edited.broker.take().unwrap().stop().success());
}

#[test]
fn a_wrong_assignment_or_state_harms_no_other_topic_and_loses_no_record() {
    let mut edited = Edited::start();
    let changed = |edited: &Edited, path: &str, change: &dyn Fn(&mut Value)| {
        let before = edited.shell().values(path)[path].clone();
        let mut value = serde_json::from_str(&before).unwrap();
        change(&mut value);
        edited.shell().set_one(path, &value.to_string());
        before
    };
    // The controller elects another leader than one that there is not.
    let state = path("/partitions/0/state");
    changed(&edited, &state, &|state| state["leader"] = json!(7));
    edited.append();
    let known = edited.broker().log().len();
    let before = changed(&edited, &path(""), &|topic| topic["partitions"]["0"] = json!([7]));
    edited.restart();
    edited.await_stop(known, &[]);
    edited.shell().set_one(&path(""), &before);
    edited.append();
    // A leader epoch below that of the log, and one above.
    changed(&edited, &state, &|state| state["leader_epoch"] = json!(0));
    let known = edited.broker().log().len();
    edited.restart();
    let mut client = edited.broker().connect();
    assert_ne!(client.produce(batch([0]), -1).unwrap(), Ok(edited.records.cast_signed()));
    edited.await_line(known, &[TOPIC, "leader epoch"]);
    edited.broker().make_topic("other");
    changed(&edited, &state, &|state| state["leader_epoch"] = json!(1000));
    edited.append();
    assert!(edited.broker.take().unwrap().stop().success());
}

#[test]
fn no_record_is_deleted_while_the_settings_that_keep_it_are_missing() {
    let mut edited = Edited::start();
    let mut client = edited.broker().connect();
    assert_eq!(set_topic(&mut client, "retention.ms", "-1").0, ErrorCode::None);
    let config = format!("/config/topics/{TOPIC}");
    for brief in ["brief", "briefer"] {
        let before = edited.shell().values(&config);
        let known = edited.broker().log().len();
        edited.shell().delete(&config);
        edited.await_stop(known, &[&config, "by hand"]);
        let (code, _) = set_topic(&mut client, "segment.bytes", "8192");
        assert_ne!(code, ErrorCode::None, "the other settings would be lost");
        let known = edited.broker().log().len();
        edited.restart_with(&["log.retention.ms=1", "log.retention.check.interval.ms=50"]);
        edited.await_stop(known, &[&config, "by hand"]);
        // Once the records of this topic are deleted, all topics have been checked.
        edited.broker().make_topic(brief);
        client = edited.broker().connect();
        client.send_batch_to(brief, batch(0..3), -1).unwrap();
        assert_eq!(client.receive_offset().unwrap(), Ok(0));
        let first = edited.data().join(format!("{brief}-0/00000000000000000000.log"));
        await_that(|| !first.exists(), || format!("{} stays", first.display()));
        edited.shell().set(before);
        edited.append();
    }
}

#[test]
fn a_topic_of_which_logs_are_left_is_not_created_and_its_committed_offsets_stay() {
    let mut edited = Edited::start();
    let mut client = edited.broker().connect();
    find_coordinator(&mut client, "group");
    commit(&mut client, "group", 1);
    let deleted = edited.shell().values(&path(""));
    edited.shell().delete(&path(""));
    await_that(|| edited.stored().is_none(), || "the topic is served".to_owned());
    for _ in 0..2 {
        // The nodes are deleted one by one, that of the topic last.
        let create = || create_topic(&mut edited.broker().connect(), TOPIC, 1);
        let is_gone = || create().0 != ErrorCode::TopicAlreadyExists;
        await_that(is_gone, || "the topic exists".to_owned());
        let refusal = create();
        assert_eq!(refusal.0, ErrorCode::InvalidRequest, "no such topic can be used");
        assert!(refusal.1.contains(&path("")), "{refusal:?}");
        edited.restart();
    }
    edited.shell().restore(deleted);
    edited.append();
    let mut client = edited.broker().connect();
    find_coordinator(&mut client, "group");
    assert_eq!(stored(&mut client, "group"), Ok(1));
}

#[test]
fn no_record_is_deleted_by_settings_that_cannot_be_read() {
    let mut edited = Edited::start();
    let defaults = "/config/brokers/<default>";
    let settings = |rows: Value| json!({ "version": 1, "config": rows }).to_string();
    edited.shell().set_one(defaults, &settings(json!({ "log.retention.ms": "-1" })));
    edited.restart_with(&["log.retention.ms=1", "log.retention.check.interval.ms=50"]);
    edited.append();
    let known = edited.broker().log().len();
    edited.shell().set_one(defaults, "by hand");
    edited.await_line(known, &[defaults, "cannot be read"]);
    // The settings of this topic can be read. Once its records are deleted, all topics have been
    // checked.
    edited.broker().make_topic("brief");
    let own = json!({ "retention.ms": "1", "cleanup.policy": "delete" });
    edited.shell().set_one("/config/topics/brief", &settings(own));
    let mut client = edited.broker().connect();
    client.send_batch_to("brief", batch(0..3), -1).unwrap();
    assert_eq!(client.receive_offset().unwrap(), Ok(0));
    let first = edited.data().join("brief-0/00000000000000000000.log");
    await_that(|| !first.exists(), || format!("{} stays", first.display()));
    edited.append();
}

#[test]
fn a_broker_starts_without_nodes_that_every_tree_has_and_creates_them() {
    let mut edited = Edited::start();
    for deleted in ["/streamlog", "/brokers/ids", "/config/topics", "/admin"] {
        let nodes = edited.shell().values(deleted);
        assert!(edited.broker.take().unwrap().stop().success());
        edited.shell().delete(deleted);
        edited.restart();
        if deleted == "/config/topics" {
            // The settings that were below it are nobody's to invent.
            edited.shell().set(nodes);
        }
        edited.append();
        let name = deleted.replace('/', "-");
        edited.broker().make_topic(&name);
    }
}

#[test]
fn a_log_is_identified_only_once_the_settings_of_its_topic_are_back() {
    let mut edited = Edited::start();
    let config = format!("/config/topics/{TOPIC}");
    let metadata = edited.data().join(format!("{TOPIC}-0/partition.metadata"));
    assert!(edited.broker.take().unwrap().stop().success());
    let settings = edited.shell().values(&config);
    edited.shell().delete(&config);
    fs::remove_file(&metadata).unwrap();
    for _ in 0..2 {
        edited.restart();
        edited.await_line(0, &[TOPIC, "is left alone until", "settings are restored"]);
        assert!(!metadata.exists(), "the unit of offsets is a setting");
    }
    edited.shell().set(settings);
    edited.append();
    assert!(metadata.exists());
}
