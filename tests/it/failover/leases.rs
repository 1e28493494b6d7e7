//! Leaders that cannot know whether they still lead: paused, or cut off from ZooKeeper.
//!
//! `STREAMLOG_SECONDS_WITHOUT_ZOOKEEPER` is the time for which ZooKeeper is down while they go on.

use std::env;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::wire::ErrorCode;
use streamlog::wire::fetch::FetchRequest;
use streamlog::wire::find_coordinator::{FindCoordinatorRequest, KEY_TYPE_GROUP};
use streamlog::wire::list_offsets::{self, LATEST, ListOffsetsRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};

use super::load::{Load, STEADY, assert_kept, read_all};
use super::three_brokers::{IDS, PATIENCE, ThreeBrokers};
use super::watcher::Watcher;
use crate::support::{Connection, FETCH, TOPIC, ZooKeeper, batch, commit};

/// The topic of committed offsets.
const OFFSETS: &str = "__consumer_offsets";
/// A topic with a single replica.
const SINGLE: &str = "single";
const LIST_OFFSETS: i16 = 5;
const OFFSET_FETCH: i16 = 9;
/// The longest time for 100 records, in which a load counts as going on.
const STANDSTILL: Duration = Duration::from_secs(20);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A broker other than `id`.
fn other_than(id: i32) -> i32 {
    IDS.into_iter().find(|other| *other != id).unwrap()
}

/// A request for the latest offset of the test's topic.
fn latest() -> ListOffsetsRequest {
    let partition = list_offsets::RequestPartition { timestamp: LATEST, ..Default::default() };
    let (name, partitions) = (TOPIC.to_owned(), vec![partition]);
    let topics = vec![list_offsets::RequestTopic { name, partitions }];
    ListOffsetsRequest { topics, ..Default::default() }
}

/// A request for the committed offsets of a group.
fn committed(group: &str) -> OffsetFetchRequest {
    let group_id = group.to_owned();
    let groups = vec![offset_fetch::RequestGroup { group_id, topics: None, ..Default::default() }];
    OffsetFetchRequest { groups, ..Default::default() }
}

/// The broker that coordinates a group.
fn coordinator(broker: &mut Connection, group: &str) -> i32 {
    let request = FindCoordinatorRequest {
        key_type: KEY_TYPE_GROUP,
        coordinator_keys: vec![group.to_owned()],
        ..Default::default()
    };
    broker.call(4, &request).unwrap().coordinators[0].node_id
}

/// The error of a fetch of the first record of the test's topic.
fn fetched(broker: &mut Connection) -> ErrorCode {
    broker.send_fetch(0, Duration::ZERO).unwrap();
    broker.receive_records().unwrap().error_code
}

/// Produces a record to the test's topic, at the latest when its partition has settled.
fn produce(broker: &mut Connection) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match broker.produce(batch([7]), -1).unwrap() {
            Ok(offset) => return offset,
            Err(code) => assert!(Instant::now() < deadline, "{code}"),
        }
        thread::sleep(PAUSE);
    }
}

/// Waits until the preferred leader of the test's topic leads it again.
fn await_return(cluster: &ThreeBrokers, preferred: i32) {
    cluster.await_in_sync(TOPIC, &IDS);
    cluster.await_seen_by(preferred, TOPIC, |partition| partition.leader_id == preferred);
}

/// Waits until a broker answers no fetch as the leader any more, at the latest when `elsewhere`
/// returns true.
fn await_refusal(broker: &mut Connection, elsewhere: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // In this order: an answer to a fetch that began earlier is no older one.
        let is_led_elsewhere = elsewhere();
        match fetched(broker) {
            ErrorCode::None => assert!(!is_led_elsewhere, "two brokers answer as the leader"),
            code => return assert_eq!(code, ErrorCode::NotLeaderOrFollower),
        }
        assert!(Instant::now() < deadline, "it answers on");
        thread::sleep(PAUSE);
    }
}

#[test]
fn a_leader_paused_beyond_its_session_answers_no_client_once_another_leads() {
    let cluster = ThreeBrokers::start(&["offsets.topic.num.partitions=9"]);
    cluster.make_topic(TOPIC, 1);
    let first = cluster.leader(TOPIC);
    let mut paused = cluster.broker(first).connect();
    let mut parked = cluster.broker(first).connect();
    assert_eq!(produce(&mut paused), 0);
    // The first question creates the topic of committed offsets.
    coordinator(&mut paused, "group");
    cluster.await_in_sync(OFFSETS, &IDS);
    let mut groups = (0..1000).map(|number| format!("group-{number}"));
    let group = groups.find(|group| coordinator(&mut paused, group) == first).unwrap();
    commit(&mut paused, &group, 5);
    parked.send_fetch(1, PATIENCE).unwrap();
    assert!(parked.is_silent_for(Duration::from_millis(200)), "there is nothing to fetch");

    let pause = cluster.broker(first).pause();
    let witness = other_than(first);
    let leads_elsewhere = |leader: i32| leader != first && leader >= 0;
    cluster.await_seen_by(witness, TOPIC, |partition| leads_elsewhere(partition.leader_id));
    let next = cluster.partitions_seen_by(witness, TOPIC)[0].leader_id;
    assert_eq!(produce(&mut cluster.broker(next).connect()), 1);

    // They wait in the socket of the leader, which has seen nothing of all this.
    paused.send_fetch(0, Duration::ZERO).unwrap();
    paused.send(LIST_OFFSETS, &latest()).unwrap();
    paused.send_batch(batch([8]), -1).unwrap();
    paused.send_batch(batch([9]), 1).unwrap();
    paused.send(OFFSET_FETCH, &committed(&group)).unwrap();
    drop(pause);
    assert_eq!(paused.receive_records().unwrap().error_code, ErrorCode::NotLeaderOrFollower);
    let listed = paused.receive::<ListOffsetsRequest>(LIST_OFFSETS).unwrap();
    assert_eq!(listed.topics[0].partitions[0].error_code, ErrorCode::NotLeaderOrFollower);
    for acks in [-1, 1] {
        let refused = paused.receive_offset().unwrap();
        assert_eq!(refused, Err(ErrorCode::NotLeaderOrFollower), "acks={acks}");
    }
    let offsets = paused.receive::<OffsetFetchRequest>(OFFSET_FETCH).unwrap();
    assert_eq!(offsets.groups[0].error_code, ErrorCode::NotCoordinator);
    let parked = parked.receive::<FetchRequest>(FETCH).unwrap();
    assert_eq!(parked.topics[0].partitions[0].error_code, ErrorCode::NotLeaderOrFollower);
    await_return(&cluster, first);
    assert_eq!(produce(&mut cluster.broker(first).connect()), 2, "a refused record was stored");
}

#[test]
fn a_leader_cut_off_from_zookeeper_answers_no_client_once_another_does_but_of_single_replicas() {
    let cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let first = cluster.leader(TOPIC);
    let single = cluster.make_single(SINGLE, first);
    let mut leader = cluster.broker(first).connect();
    assert_eq!(produce(&mut leader), 0);

    cluster.way(first).cut();
    let witness = other_than(first);
    await_refusal(&mut leader, || {
        let elected = cluster.partitions_seen_by(witness, TOPIC)[0].leader_id;
        let is_another = elected != first && elected >= 0;
        is_another && fetched(&mut cluster.broker(elected).connect()) == ErrorCode::None
    });
    cluster.await_seen_by(witness, TOPIC, |partition| partition.leader_id != first);
    assert_eq!(fetched(&mut leader), ErrorCode::NotLeaderOrFollower);
    leader.send_batch_to(&single, batch([7]), -1).unwrap();
    assert_eq!(leader.receive_offset().unwrap(), Ok(0), "nobody else can lead it");
    cluster.way(first).restore();
    await_return(&cluster, first);
    assert_eq!(produce(&mut leader), 1, "a refused record was stored");
}

/// The row of `streamlog cluster status`, as the only broker in its bootstrap list shows it.
fn status(cluster: &ThreeBrokers, id: i32) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_streamlog"));
    command.args(["cluster", "status", "-o", "json"]);
    command.env("STREAMLOG_BOOTSTRAP", cluster.broker(id).address().to_string());
    command.env("STREAMLOG_CONFIG", "/no/such/file").env_remove("STREAMLOG_CONTEXT");
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

/// Takes ZooKeeper away by `happen`, for this time and longer than leases last: leaders go on as
/// long as all their in-sync replicas do. `end` brings it back.
fn go_on_without_zookeeper<T>(
    time: Duration,
    happen: impl FnOnce(&mut ZooKeeper) -> T,
    end: impl FnOnce(&mut ZooKeeper, T),
) {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let load = Load::start_at(STEADY, cluster.client(), TOPIC);
    let watcher = Watcher::start([cluster.client(), cluster.client()], TOPIC);
    load.await_more(200);
    let first = cluster.leader(TOPIC);
    assert_eq!(status(&cluster, first)["decisions"], "made");
    let away = cluster.lose_leases(|cluster| happen(cluster.zookeeper()));
    load.await_more(200);
    let until = Instant::now() + time;
    while Instant::now() < until {
        let begin = Instant::now();
        load.await_more(100);
        assert!(begin.elapsed() < STANDSTILL, "the load stands still without ZooKeeper");
    }
    let mut leader = cluster.broker(first).connect();
    assert_eq!(fetched(&mut leader), ErrorCode::None);
    assert_eq!(status(&cluster, first)["decisions"], "wait for the metadata store");

    // It may have been elected instead.
    let missing = cluster.broker(other_than(first)).pause();
    await_refusal(&mut leader, || false);
    load.await_standstill();
    assert_eq!(fetched(&mut leader), ErrorCode::NotLeaderOrFollower);
    drop(missing);
    load.await_more(200);
    assert_eq!(cluster.leader(TOPIC), first, "nobody can be elected");

    end(cluster.zookeeper(), away);
    let back = Instant::now();
    for id in IDS {
        cluster.await_registered(id, &IDS);
        cluster.await_seen_by(id, TOPIC, |partition| {
            partition.leader_id >= 0 && partition.isr_nodes.len() == IDS.len()
        });
    }
    load.await_more(200);
    let took = back.elapsed();
    assert!(took < Duration::from_mins(1), "back after {took:?}");
    let (acknowledged, (shown, told)) = (load.stop(), watcher.stop());
    let read = read_all(&cluster.client(), TOPIC);
    assert_kept(&acknowledged, &read);
    assert!(shown.len() > acknowledged.len() / 2 && told > 0, "{} were read", shown.len());
    eprintln!("{} records acknowledged; all in sync {took:?} after its return", acknowledged.len());
    for (place, number) in &shown {
        assert_eq!(read.get(place), Some(number), "{place:?} was shown, and is withdrawn");
    }
    cluster.await_in_sync(TOPIC, &IDS);
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn while_zookeeper_is_paused_whole_partitions_are_written_and_read() {
    let time = Duration::ZERO;
    go_on_without_zookeeper(time, |server| server.pause(), |_, pause| drop(pause));
}

#[test]
fn while_zookeeper_is_down_whole_partitions_are_written_and_read() {
    let seconds =
        env::var("STREAMLOG_SECONDS_WITHOUT_ZOOKEEPER").map_or(60, |text| text.parse().unwrap());
    let time = Duration::from_secs(seconds);
    go_on_without_zookeeper(time, ZooKeeper::kill, |server, ()| server.restart());
}
