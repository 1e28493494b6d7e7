//! Consumer groups whose coordinator is killed or paused.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use streamlog::client::{
    Client, Commit, Consumer, ConsumerConfig, GroupConfig, ProducerConfig, ProducerRecord,
};
use streamlog::types::{Offset, PartitionIndex, TopicPartition};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::heartbeat::HeartbeatRequest;
use streamlog::wire::join_group::{JoinGroupRequest, JoinGroupResponse, Protocol};
use streamlog::wire::sync_group::{MemberAssignment, SyncGroupRequest};
use streamlog::wire::{ErrorCode, Message};

use super::three_brokers::{IDS, ThreeBrokers, others};

const TOPIC: &str = "consumed";
/// The group with a member, and the one whose offsets are committed without members.
const GROUP: &str = "workers";
const COMMITTED: &str = "commits";
const OFFSETS: &str = "__consumer_offsets";

/// One partition of the internal topic: its leader coordinates all groups.
const SETTINGS: &[&str] = &["offsets.topic.num.partitions=1", "group.initial.rebalance.delay.ms=0"];

/// The longest wait for a coordinator.
const PATIENCE: Duration = Duration::from_mins(1);

/// The session of a member, longer than a failover takes.
const SESSION_MS: i32 = 30_000;

/// The words by which a broker reports that the log of a coordinator could not be loaded.
const RELOADS: &str = "are read again in";

/// The words with which it reports that it has loaded groups from records.
const LOADED: &str = "groups of __consumer_offsets-0 loaded";

/// The coordinator of the group, once there is one.
fn coordinator(cluster: &ThreeBrokers) -> i32 {
    let keys = vec![GROUP.to_owned()];
    let request = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = cluster.any_broker().connect().call(4, &request).unwrap();
        let found = &found.coordinators[0];
        if found.error_code == ErrorCode::None && cluster.runs(found.node_id) {
            return found.node_id;
        }
        assert!(Instant::now() < deadline, "{found:?}\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks the coordinator until it answers with something else than the errors that a client retries
/// while a coordinator moves.
fn ask<R: Message>(
    cluster: &ThreeBrokers,
    version: i16,
    request: &R,
    code: impl Fn(&R::Response) -> ErrorCode,
) -> R::Response {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let broker = cluster.broker(coordinator(cluster));
        let answer = broker.connect_if_up().and_then(|mut c| c.call(version, request).ok());
        if let Some(answer) = answer {
            match code(&answer) {
                ErrorCode::NotCoordinator
                | ErrorCode::CoordinatorLoadInProgress
                | ErrorCode::CoordinatorNotAvailable => {}
                _ => return answer,
            }
        }
        assert!(Instant::now() < deadline, "the group has no coordinator\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(20));
    }
}

/// The only member of the group, which has its assignment.
struct Member {
    id: String,
    generation: i32,
}

impl Member {
    fn join(cluster: &ThreeBrokers) -> Self {
        let named = Self::send_join(cluster, "").member_id;
        let joined = Self::send_join(cluster, &named);
        assert_eq!(joined.error_code, ErrorCode::None);
        let member = Self { id: joined.member_id, generation: joined.generation_id };
        let own = MemberAssignment { member_id: member.id.clone(), ..Default::default() };
        let request = SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: member.generation,
            member_id: member.id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some("range".to_owned()),
            assignments: vec![own],
            ..Default::default()
        };
        let synced = ask(cluster, 5, &request, |answer| answer.error_code);
        assert_eq!(synced.error_code, ErrorCode::None);
        member
    }

    fn send_join(cluster: &ThreeBrokers, id: &str) -> JoinGroupResponse {
        let metadata = Bytes::from_static(b"topics");
        let request = JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: SESSION_MS,
            rebalance_timeout_ms: SESSION_MS,
            member_id: id.to_owned(),
            protocol_type: "consumer".to_owned(),
            protocols: vec![Protocol { name: "range".to_owned(), metadata }],
            ..Default::default()
        };
        ask(cluster, 5, &request, |answer| answer.error_code)
    }

    fn heartbeat(&self, cluster: &ThreeBrokers) -> ErrorCode {
        ask(cluster, 4, &self.beat(), |answer| answer.error_code).error_code
    }

    fn beat(&self) -> HeartbeatRequest {
        HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            ..Default::default()
        }
    }
}

/// Publishes this number of records to the topic's only partition.
fn publish(client: &Client, count: u64) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..count {
        let value = number.to_string();
        let record = ProducerRecord {
            topic: TOPIC,
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

/// Commits one offset after another, and keeps the last that was acknowledged.
#[derive(Default)]
struct Commits {
    is_over: AtomicBool,
    acknowledged: AtomicI64,
}

impl Commits {
    fn run(&self, client: &Client) {
        let admin = client.admin();
        for offset in 1.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            admin.set_offsets(COMMITTED, &[(partition(), Offset::new(offset))]).unwrap();
            self.acknowledged.store(offset, Ordering::Release);
        }
    }

    fn last(&self) -> i64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    fn await_more(&self, count: i64, cluster: &ThreeBrokers) {
        let (before, deadline) = (self.last(), Instant::now() + PATIENCE);
        while self.last() < before + count {
            assert!(Instant::now() < deadline, "no commits\n{}", cluster.logs());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Ends the commits when dropped, so that a test that fails meanwhile does not wait for them.
struct EndsWriting<'a>(&'a Commits);

impl Drop for EndsWriting<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

fn partition() -> TopicPartition {
    TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) }
}

fn committed(cluster: &ThreeBrokers) -> i64 {
    let committed = cluster.client().admin().committed(COMMITTED).unwrap();
    committed[&partition()].get()
}

#[test]
fn a_killed_coordinator_loses_neither_acknowledged_commits_nor_members_that_heartbeat() {
    let mut cluster = ThreeBrokers::start(SETTINGS);
    cluster.make_topic(TOPIC, 1);
    coordinator(&cluster);
    cluster.await_in_sync(OFFSETS, &IDS);
    let member = Member::join(&cluster);
    let (client, commits) = (cluster.client(), Commits::default());
    thread::scope(|scope| {
        let writing = scope.spawn(|| commits.run(&client));
        let _ends_writing = EndsWriting(&commits);
        for _ in 0..2 {
            commits.await_more(30, &cluster);
            assert_eq!(member.heartbeat(&cluster), ErrorCode::None);
            let killed = coordinator(&cluster);
            cluster.kill(killed);
            // The killed broker has acknowledged all commits up to this one.
            let acknowledged = commits.last();
            assert!(committed(&cluster) >= acknowledged, "{}", cluster.logs());
            assert_eq!(member.heartbeat(&cluster), ErrorCode::None, "{}", cluster.logs());
            commits.await_more(30, &cluster);
            cluster.start_broker(killed);
            cluster.await_in_sync(OFFSETS, &IDS);
        }
        commits.is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap();
    });
    assert_eq!(committed(&cluster), commits.last());
    assert!(!cluster.logs().contains(RELOADS), "{}", cluster.logs());
}

/// A member of a group that commits when it is told to.
fn consumer(client: &Client) -> Consumer {
    let group = GroupConfig {
        id: Some(COMMITTED.to_owned()),
        commit: Commit::Manual,
        ..GroupConfig::default()
    };
    client.consumer(&[TOPIC], ConsumerConfig { group, ..ConsumerConfig::default() }).unwrap()
}

#[test]
fn a_consumer_goes_on_committing_when_its_coordinator_is_killed() {
    let mut cluster = ThreeBrokers::start(SETTINGS);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    publish(&client, 40);
    let consumer = consumer(&client);
    let mut messages = consumer.until_end().unwrap();
    messages.by_ref().take(10).for_each(|message| drop(message.unwrap()));
    consumer.commit().unwrap();
    assert_eq!(committed(&cluster), 10);
    cluster.await_in_sync(OFFSETS, &IDS);

    cluster.kill(coordinator(&cluster));
    messages.take(10).for_each(|message| drop(message.unwrap()));
    consumer.commit().unwrap();
    assert_eq!(committed(&cluster), 20, "{}", cluster.logs());
    consumer.close();
}

#[test]
fn members_and_administration_leave_a_coordinator_that_is_paused_once_there_is_another() {
    let session = "zookeeper.session.timeout.ms=2000";
    let cluster = ThreeBrokers::start(&[SETTINGS, &[session]].concat());
    cluster.make_topic(TOPIC, 1);
    // All would wait for the answers of the paused broker for as long.
    let client = cluster.client_with(|config| config.request_timeout = Duration::from_mins(10));
    publish(&client, 30);
    let consumer = consumer(&client);
    let take = || drop(consumer.next(Some(PATIENCE)).unwrap().unwrap());
    take();
    consumer.commit().unwrap();
    cluster.await_in_sync(OFFSETS, &IDS);

    let paused = cluster.broker(coordinator(&cluster)).pause();
    take();
    consumer.commit().unwrap();
    let committed = client.admin().committed(COMMITTED).unwrap();
    assert_eq!(committed.into_values().collect::<Vec<_>>(), [Offset::new(2)]);
    consumer.close();
    assert_eq!(client.admin().group(COMMITTED).unwrap().state, "Empty");
    drop(paused);
    cluster.await_in_sync(OFFSETS, &IDS);
}

#[test]
fn a_coordinator_goes_on_without_loading_its_groups_again_when_a_follower_is_killed() {
    let mut cluster = ThreeBrokers::start(SETTINGS);
    cluster.make_topic(TOPIC, 1);
    let leader = coordinator(&cluster);
    cluster.await_in_sync(OFFSETS, &IDS);
    let member = Member::join(&cluster);
    let mut connection = cluster.broker(leader).connect();
    // Without the retries of a client: the coordinator must know the member at all times.
    let mut beat = || connection.call(4, &member.beat()).unwrap().error_code;
    let before = cluster.partitions(OFFSETS).remove(0);

    for follower in others(leader) {
        cluster.kill(follower);
        assert_eq!(beat(), ErrorCode::None);
        cluster.await_in_sync(OFFSETS, &others(follower));
        assert_eq!(beat(), ErrorCode::None);
        cluster.start_broker(follower);
        cluster.await_in_sync(OFFSETS, &IDS);
        assert_eq!(beat(), ErrorCode::None);
    }
    let after = cluster.partitions(OFFSETS).remove(0);
    assert_eq!((after.leader_id, after.leader_epoch), (leader, before.leader_epoch));
    assert!(!cluster.log(leader).contains(LOADED), "{}", cluster.log(leader));
    // The next coordinator does load them.
    cluster.kill(leader);
    assert_eq!(member.heartbeat(&cluster), ErrorCode::None);
    assert!(cluster.logs().contains(LOADED), "{}", cluster.logs());
}
