//! Broker processes that crash while their sessions would last for long.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use streamlog::io::SystemClock;
use streamlog::metadata::{Store, ZooKeeperAddress, ZooKeeperStore};

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, ThreeBrokers, others};

const TOPIC: &str = "guarded";
const LONG_SESSION: &str = "zookeeper.session.timeout.ms=30000";
/// Half of the long session: too early for its end to be the cause.
const EARLY: Duration = Duration::from_secs(15);

/// The guard of a broker: the only process that it has started.
fn guard_of(cluster: &ThreeBrokers, id: i32) -> Pid {
    let parent = cluster.broker(id).id().to_string();
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let is_child = |stat: &str| {
        // The name in the second field may contain spaces and parentheses.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
        fields.and_then(|fields| fields.split_whitespace().nth(1)) == Some(&parent)
    };
    let children = processes.filter_map(|process| {
        let stat = fs::read_to_string(process.join("stat")).ok()?;
        is_child(&stat).then(|| stat.split(' ').next().unwrap().parse().unwrap())
    });
    let children: Vec<i32> = children.collect();
    assert_eq!(children.len(), 1, "the processes of broker {id}: {children:?}");
    Pid::from_raw(children[0])
}

fn kill_guard(cluster: &ThreeBrokers, id: i32) {
    kill(guard_of(cluster, id), Signal::SIGKILL).unwrap();
}

#[test]
fn a_killed_leader_is_followed_by_another_long_before_its_session_could_end() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    let first = cluster.leader(TOPIC);
    let killed = Instant::now();
    cluster.kill(first);
    cluster.await_in_sync(TOPIC, &others(first));
    load.await_more(100);
    let waited = killed.elapsed();
    assert!(waited < EARLY, "after {waited:?}:\n{}", cluster.logs());
    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}

/// The last incarnation of a broker of which the end is noted in ZooKeeper, and the registered one.
#[tokio::main(flavor = "current_thread")]
async fn ended_and_registered(tree: ZooKeeperAddress, id: i32) -> (Option<i64>, Option<i64>) {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let known = store.get(&format!("/streamlog/brokers/{id}")).await.unwrap().unwrap();
    let known: Value = serde_json::from_slice(&known.value).unwrap();
    let registered = store.get(&format!("/brokers/ids/{id}")).await.unwrap();
    (known["ended"].as_i64(), registered.map(|node| node.created))
}

#[test]
fn the_end_of_a_process_is_noted_by_its_guard_or_when_it_stops_so_that_no_leader_waits_for_it() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    for (id, is_killed) in [(2, true), (3, false)] {
        let tree = cluster.zookeeper().tree("/streamlog");
        let (ended, registered) = ended_and_registered(tree.clone(), id);
        assert!(ended.is_none() && registered.is_some());
        if is_killed {
            cluster.kill(id);
        } else {
            cluster.stop(id);
        }
        // Its session has ended, and what was noted before that is there.
        cluster.await_registered(1, if is_killed { &[1, 3] } else { &[1] });
        assert_eq!(ended_and_registered(tree, id), (registered, None));
    }
}

#[test]
fn without_its_guard_a_killed_leader_is_followed_at_the_end_of_its_session() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    let first = cluster.leader(TOPIC);
    kill_guard(&cluster, first);
    load.await_more(100);
    cluster.kill(first);
    cluster.await_in_sync(TOPIC, &others(first));
    load.await_more(100);
    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}

#[test]
fn a_broker_that_was_killed_with_its_guard_waits_for_its_own_session_on_an_emptied_disk() {
    let mut cluster = ThreeBrokers::start(&[]);
    kill_guard(&cluster, 1);
    cluster.kill(1);
    cluster.empty_disk(1);
    cluster.start_broker(1);
    assert!(cluster.log(1).contains("for the end of that session"), "{}", cluster.log(1));
    cluster.await_registered(2, &IDS);
}

#[test]
fn the_guard_of_a_paused_broker_does_nothing() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    let paused = cluster.broker(1).pause();
    cluster.kill(2);
    // The guard of the second broker has acted by then, and so would the first one's have.
    cluster.await_registered(3, &[1, 3]);
    drop(paused);
}

#[test]
fn a_broker_that_was_killed_returns_on_its_directory_before_its_session_ends() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    let first = cluster.leader(TOPIC);
    // So that only its next process can tell of its end.
    kill_guard(&cluster, first);
    let killed = Instant::now();
    cluster.kill(first);
    cluster.start_broker(first);
    cluster.await_in_sync(TOPIC, &IDS);
    load.await_more(100);
    let waited = killed.elapsed();
    assert!(waited < EARLY, "after {waited:?}:\n{}", cluster.logs());
    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}

#[test]
fn a_process_on_a_copy_of_a_directory_is_refused_and_the_broker_stays_in_sync() {
    let cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    let copied = cluster.leader(TOPIC);
    let (data, copy) = (cluster.data(copied), cluster.data(copied).with_file_name("copy"));
    // Files that are removed while they are copied make `cp` fail; it copies the others.
    Command::new("cp").arg("-a").args([&data, &copy]).status().unwrap();
    for _ in 0..3 {
        let log = cluster.start_another(copied, &copy).err().unwrap();
        assert!(log.contains(&format!("broker id {copied} is in use by the broker at")), "{log}");
        load.await_more(100);
    }
    let partition = cluster.partitions(TOPIC).remove(0);
    assert_eq!((partition.leader_id, partition.leader_epoch), (copied, 0), "{}", cluster.logs());
    cluster.await_in_sync(TOPIC, &IDS);
    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}
