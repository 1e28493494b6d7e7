//! Consumer groups over the wire: every version of their APIs, and commits on disks that stall,
//! fill up and lose their power.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use streamlog::io::MemoryDisk;
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::wire::delete_groups::DeleteGroupsRequest;
use streamlog::wire::delete_topics::DeleteTopicsRequest;
use streamlog::wire::describe_groups::DescribeGroupsRequest;
use streamlog::wire::find_coordinator::{FindCoordinatorRequest, KEY_TYPE_TRANSACTION};
use streamlog::wire::heartbeat::HeartbeatRequest;
use streamlog::wire::init_producer_id::InitProducerIdRequest;
use streamlog::wire::join_group::{JoinGroupRequest, JoinGroupResponse, Protocol};
use streamlog::wire::leave_group::{LeaveGroupRequest, RequestMember as Leaver};
use streamlog::wire::list_groups::ListGroupsRequest;
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::offset_fetch::{self, OffsetFetchRequest};
use streamlog::wire::sync_group::{MemberAssignment, SyncGroupRequest};
use streamlog::wire::{ErrorCode, Message};

use crate::support::{Connection, LocalBroker, Random, TOPIC, batch, once_loaded, seeds};

/// Few partitions, so that their logs are made quickly.
const SETTINGS: &[(&str, &str)] =
    &[("offsets.topic.num.partitions", "2"), ("group.initial.rebalance.delay.ms", "0")];

/// Long enough for a broker that breaks its promise to do so.
const LONG: Duration = Duration::from_millis(300);

/// The version of an API that goes with version `version` of another.
fn like<R: Message>(version: i16) -> i16 {
    version.clamp(*R::VERSIONS.start(), *R::VERSIONS.end())
}

/// Has the internal topic made, and asks who looks after a group.
fn find(client: &mut Connection, version: i16, group: &str) -> (ErrorCode, i32) {
    let request = if version <= 3 {
        FindCoordinatorRequest { key: group.to_owned(), ..Default::default() }
    } else {
        let coordinator_keys = vec![group.to_owned()];
        FindCoordinatorRequest { coordinator_keys, ..Default::default() }
    };
    let answer = client.call(version, &request).unwrap();
    match answer.coordinators.first() {
        Some(coordinator) => (coordinator.error_code, coordinator.port),
        None => (answer.error_code, answer.port),
    }
}

fn join_as(
    client: &mut Connection,
    version: i16,
    group: &str,
    member_id: &str,
) -> JoinGroupResponse {
    let protocol = Protocol { name: "range".to_owned(), metadata: Bytes::from_static(b"topics") };
    let request = JoinGroupRequest {
        group_id: group.to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: if version == 0 { -1 } else { 10_000 },
        member_id: member_id.to_owned(),
        protocol_type: "consumer".to_owned(),
        protocols: vec![protocol],
        ..Default::default()
    };
    client.call(version, &request).unwrap()
}

/// A member that leads its group and has its assignment.
#[derive(Clone)]
struct Member {
    group: String,
    id: String,
    generation: i32,
}

impl Member {
    fn new(client: &mut Connection, version: i16, group: &str) -> Self {
        let mut joined = join_as(client, version, group, "");
        if version >= 4 {
            assert_eq!(joined.error_code, ErrorCode::MemberIdRequired);
            joined = join_as(client, version, group, &joined.member_id);
        }
        assert_eq!(joined.error_code, ErrorCode::None);
        assert_eq!((&joined.leader, joined.members.len()), (&joined.member_id, 1));
        let member = Self {
            group: group.to_owned(),
            id: joined.member_id,
            generation: joined.generation_id,
        };
        member.sync(client, like::<SyncGroupRequest>(version));
        member
    }

    /// A consumer that only stores offsets.
    fn without_group(group: &str) -> Self {
        Self { group: group.to_owned(), id: String::new(), generation: -1 }
    }

    fn sync(&self, client: &mut Connection, version: i16) {
        let assignment = Bytes::from_static(b"all of it");
        let own = MemberAssignment { member_id: self.id.clone(), assignment: assignment.clone() };
        let request = SyncGroupRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some("range".to_owned()),
            assignments: vec![own],
            ..Default::default()
        };
        let answer = client.call(version, &request).unwrap();
        assert_eq!((answer.error_code, answer.assignment), (ErrorCode::None, assignment));
        if version >= 5 {
            assert_eq!(answer.protocol_name.as_deref(), Some("range"));
        }
    }

    fn heartbeat(&self, client: &mut Connection, version: i16) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: self.group.clone(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            ..Default::default()
        };
        client.call(version, &request).unwrap().error_code
    }

    fn send_commit(&self, client: &mut Connection, version: i16, offset: i64) {
        client.send(version, &self.commit_of(offset, 0)).unwrap();
    }

    fn commit_of(&self, committed_offset: i64, partition_index: i32) -> OffsetCommitRequest {
        let partition = offset_commit::RequestPartition {
            partition_index,
            committed_offset,
            committed_metadata: Some("a note".to_owned()),
            ..Default::default()
        };
        OffsetCommitRequest {
            group_id: self.group.clone(),
            generation_id_or_member_epoch: self.generation,
            member_id: self.id.clone(),
            topics: vec![offset_commit::RequestTopic {
                name: TOPIC.to_owned(),
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    fn commit(&self, client: &mut Connection, version: i16, offset: i64) -> ErrorCode {
        self.send_commit(client, version, offset);
        receive_commit(client, version)
    }

    fn leave(&self, client: &mut Connection, version: i16) -> ErrorCode {
        let group_id = self.group.clone();
        let member_id = self.id.clone();
        let request = if version <= 2 {
            LeaveGroupRequest { group_id, member_id, ..Default::default() }
        } else {
            let leaver = Leaver { member_id, ..Default::default() };
            LeaveGroupRequest { group_id, members: vec![leaver], ..Default::default() }
        };
        let answer = client.call(version, &request).unwrap();
        answer.members.first().map_or(answer.error_code, |member| member.error_code)
    }
}

fn receive_commit(client: &mut Connection, version: i16) -> ErrorCode {
    let answer = client.receive::<OffsetCommitRequest>(version).unwrap();
    answer.topics[0].partitions[0].error_code
}

/// The stored offset, −1 if there is none.
fn fetch(client: &mut Connection, version: i16, group: &str) -> Result<i64, ErrorCode> {
    let name = TOPIC.to_owned();
    let topic =
        offset_fetch::RequestTopic { name, partition_indexes: vec![0], ..Default::default() };
    let (group_id, topics) = (group.to_owned(), Some(vec![topic]));
    let request = if version <= 7 {
        OffsetFetchRequest { group_id, topics, ..Default::default() }
    } else {
        let group = offset_fetch::RequestGroup { group_id, topics, ..Default::default() };
        OffsetFetchRequest { groups: vec![group], ..Default::default() }
    };
    let mut answer = client.call(version, &request).unwrap();
    let (topics, code) = match answer.groups.pop() {
        Some(group) => (group.topics, group.error_code),
        None => (answer.topics, answer.error_code),
    };
    match (code, topics.first().map(|topic| &topic.partitions[0])) {
        (ErrorCode::None, Some(found)) if found.error_code == ErrorCode::None => {
            let note = if found.committed_offset < 0 { "" } else { "a note" };
            assert_eq!(found.metadata.as_deref(), Some(note));
            Ok(found.committed_offset)
        }
        (ErrorCode::None, Some(found)) => Err(found.error_code),
        (code, _) => Err(code),
    }
}

/// As [`fetch`], once the coordinator has read its log.
fn fetch_loaded(client: &mut Connection, group: &str) -> i64 {
    once_loaded(|| fetch(client, 8, group)).unwrap()
}

fn state(client: &mut Connection, version: i16, group: &str) -> (ErrorCode, String) {
    let groups = vec![group.to_owned()];
    let request = DescribeGroupsRequest { groups, ..Default::default() };
    let mut answer = client.call(version, &request).unwrap();
    let group = answer.groups.remove(0);
    (group.error_code, group.group_state)
}

fn listed(client: &mut Connection, version: i16) -> Vec<String> {
    let answer = client.call(version, &ListGroupsRequest::default()).unwrap();
    assert_eq!(answer.error_code, ErrorCode::None);
    answer.groups.into_iter().map(|group| group.group_id).collect()
}

fn delete(client: &mut Connection, version: i16, group: &str) -> ErrorCode {
    let request = DeleteGroupsRequest { groups_names: vec![group.to_owned()] };
    client.call(version, &request).unwrap().results[0].error_code
}

#[test]
fn every_version_of_every_group_api_is_answered_in_its_form() {
    let broker = LocalBroker::new(1, SETTINGS);
    let mut client = broker.connect();
    let port = i32::from(broker.address().port());
    for version in 0..=9 {
        let group = &format!("group-{version}");
        let found = find(&mut client, like::<FindCoordinatorRequest>(version), group);
        assert_eq!(found, (ErrorCode::None, port), "version {version}");
        let member = Member::new(&mut client, version, group);
        let beat = member.heartbeat(&mut client, like::<HeartbeatRequest>(version));
        assert_eq!(beat, ErrorCode::None);
        let commit = like::<OffsetCommitRequest>(version);
        assert_eq!(member.commit(&mut client, commit, 40 + i64::from(version)), ErrorCode::None);
        let stored = fetch(&mut client, like::<OffsetFetchRequest>(version), group);
        assert_eq!(stored, Ok(40 + i64::from(version)));
        let describe = like::<DescribeGroupsRequest>(version);
        assert_eq!(state(&mut client, describe, group), (ErrorCode::None, "Stable".to_owned()));
        assert!(listed(&mut client, like::<ListGroupsRequest>(version)).contains(group));
        let deletion = like::<DeleteGroupsRequest>(version);
        assert_eq!(delete(&mut client, deletion, group), ErrorCode::NonEmptyGroup);
        assert_eq!(member.leave(&mut client, like::<LeaveGroupRequest>(version)), ErrorCode::None);
        assert_eq!(delete(&mut client, deletion, group), ErrorCode::None);
        assert_eq!(fetch(&mut client, like::<OffsetFetchRequest>(version), group), Ok(-1));
    }
    assert_eq!(listed(&mut client, 5), [""; 0]);
    broker.stop().unwrap();
}

#[test]
fn errors_stand_where_each_version_has_them() {
    let broker = LocalBroker::new(2, SETTINGS);
    let mut client = broker.connect();
    // Nobody has asked for the coordinator yet: there is none.
    assert_eq!(fetch(&mut client, 1, "g"), Err(ErrorCode::NotCoordinator));
    assert_eq!(fetch(&mut client, 7, "g"), Err(ErrorCode::NotCoordinator));
    assert_eq!(fetch(&mut client, 8, "g"), Err(ErrorCode::NotCoordinator));
    find(&mut client, 5, "g");
    let stranger = Member { group: "g".to_owned(), id: "nobody".to_owned(), generation: 3 };
    for version in 0..=5 {
        assert_eq!(stranger.leave(&mut client, version), ErrorCode::UnknownMemberId);
    }
    assert_eq!(stranger.heartbeat(&mut client, 4), ErrorCode::UnknownMemberId);
    assert_eq!(stranger.commit(&mut client, 9, 1), ErrorCode::IllegalGeneration);
    assert_eq!(state(&mut client, 5, "g"), (ErrorCode::None, "Dead".to_owned()));
    assert_eq!(state(&mut client, 6, "g").0, ErrorCode::GroupIdNotFound);
    assert_eq!(delete(&mut client, 2, "g"), ErrorCode::GroupIdNotFound);
    let refused = join_as(&mut client, 9, "", "");
    assert_eq!((refused.error_code, refused.protocol_name), (ErrorCode::InvalidGroupId, None));
    let refused = join_as(&mut client, 6, "", "");
    assert_eq!(refused.protocol_name.as_deref(), Some(""));

    let member = Member::new(&mut client, 9, "g");
    let unknown = client.call(9, &member.commit_of(1, 7)).unwrap();
    let code = unknown.topics[0].partitions[0].error_code;
    assert_eq!(code, ErrorCode::UnknownTopicOrPartition);
    broker.stop().unwrap();
}

#[test]
fn producer_ids_are_never_given_twice_and_transactions_are_refused_for_good() {
    let broker = LocalBroker::new(3, SETTINGS);
    let mut client = broker.connect();
    let request = InitProducerIdRequest::default();
    let mut next = || client.call(5, &request).unwrap().producer_id;
    let (first, second) = (next(), next());
    assert!(0 <= first && first < second);
    let broker = LocalBroker::on(broker.cut_power(3), SETTINGS).unwrap();
    let mut client = broker.connect();
    assert!(client.call(5, &request).unwrap().producer_id > second);

    let transactional_id = Some("t".to_owned());
    let request = InitProducerIdRequest { transactional_id, ..Default::default() };
    let answer = client.call(5, &request).unwrap();
    assert_eq!((answer.error_code, answer.producer_id), (ErrorCode::UnsupportedVersion, -1));
    // The way to that answer leads over a coordinator.
    let key_type = KEY_TYPE_TRANSACTION;
    let coordinator_keys = vec!["t".to_owned()];
    let request = FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
    let answer = client.call(5, &request).unwrap();
    assert_eq!(answer.coordinators[0].error_code, ErrorCode::None);
    broker.stop().unwrap();
}

#[test]
fn a_commit_waits_for_the_disk_and_a_heartbeat_does_not() {
    let broker = LocalBroker::new(4, SETTINGS);
    let (mut slow, mut quick) = (broker.connect(), broker.connect());
    find(&mut slow, 5, "g");
    let member = Member::new(&mut slow, 9, "g");
    assert_eq!(member.commit(&mut slow, 9, 1), ErrorCode::None);

    let hold = broker.disk.hold_sync();
    member.send_commit(&mut slow, 9, 2);
    assert!(hold.wait_for(1, Duration::from_secs(10)), "nobody flushes");
    for _ in 0..10 {
        assert_eq!(member.heartbeat(&mut quick, 4), ErrorCode::None);
    }
    assert!(slow.is_silent_for(LONG), "a commit was answered before the flush");
    assert_eq!(fetch(&mut quick, 9, "g"), Ok(1), "a commit was shown before the flush");
    drop(hold);
    assert_eq!(receive_commit(&mut slow, 9), ErrorCode::None);
    assert_eq!(fetch(&mut quick, 9, "g"), Ok(2));
    broker.stop().unwrap();
}

#[test]
fn a_commit_that_takes_too_long_is_told_so_and_its_member_stays() {
    let settings = [SETTINGS, &[("offsets.commit.timeout.ms", "100")]].concat();
    let broker = LocalBroker::new(5, &settings);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    let member = Member::new(&mut client, 9, "g");
    assert_eq!(member.commit(&mut client, 9, 1), ErrorCode::None);
    let hold = broker.disk.hold_sync();
    assert_eq!(member.commit(&mut client, 9, 2), ErrorCode::CoordinatorNotAvailable);
    assert_eq!(member.heartbeat(&mut client, 4), ErrorCode::None);
    drop(hold);
    assert_eq!(member.commit(&mut client, 9, 3), ErrorCode::None);
    assert_eq!(fetch(&mut client, 9, "g"), Ok(3));
    broker.stop().unwrap();
}

#[test]
fn a_full_disk_refuses_commits_and_is_left_behind_without_a_restart() {
    let broker = LocalBroker::new(6, SETTINGS);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    let member = Member::new(&mut client, 9, "g");
    assert_eq!(member.commit(&mut client, 9, 1), ErrorCode::None);
    broker.disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".log").for_ever());
    assert_eq!(member.commit(&mut client, 9, 2), ErrorCode::CoordinatorNotAvailable);
    assert_eq!(fetch(&mut client, 9, "g"), Ok(1));
    assert_eq!(member.heartbeat(&mut client, 4), ErrorCode::None);
    broker.disk.clear_faults();
    assert_eq!(member.commit(&mut client, 9, 3), ErrorCode::None);
    assert_eq!(fetch(&mut client, 9, "g"), Ok(3));
    broker.stop().unwrap();
}

#[test]
fn a_member_outlives_a_clean_restart_of_its_broker() {
    let broker = LocalBroker::new(7, SETTINGS);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    let member = Member::new(&mut client, 9, "g");
    assert_eq!(member.commit(&mut client, 9, 17), ErrorCode::None);
    let broker = LocalBroker::on(broker.stop().unwrap(), SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(fetch_loaded(&mut client, "g"), 17);
    assert_eq!(member.heartbeat(&mut client, 4), ErrorCode::None);
    member.sync(&mut client, 5);
    assert_eq!(member.commit(&mut client, 9, 18), ErrorCode::None);
    broker.stop().unwrap();
}

#[test]
fn an_offset_that_stood_in_a_damaged_record_is_refused_and_no_other() {
    let broker = LocalBroker::new(8, SETTINGS);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    // Both live in partition 1; each commit is a batch.
    for (group, offset) in [("g", 5), ("i", 6)] {
        let code = Member::without_group(group).commit(&mut client, 9, offset);
        assert_eq!(code, ErrorCode::None);
    }
    let disk = broker.stop().unwrap();
    let log = Path::new("/data/__consumer_offsets-1/00000000000000000000.log");
    disk.flip_bit(log, 70, 3).unwrap();
    let broker = LocalBroker::on(disk, SETTINGS).unwrap();
    let mut client = broker.connect();
    assert_eq!(fetch_loaded(&mut client, "i"), 6);
    for version in 1..=9 {
        let refused = Err(ErrorCode::CorruptMessage);
        assert_eq!(fetch(&mut client, version, "g"), refused, "version {version}");
    }
    broker.stop().unwrap();
}

#[test]
fn offsets_of_a_deleted_topic_are_forgotten_for_good() {
    let broker = LocalBroker::new(9, SETTINGS);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    let alone = Member::without_group("g");
    assert_eq!(alone.commit(&mut client, 9, 5), ErrorCode::None);
    delete_topic(&mut client);
    while fetch(&mut client, 9, "g") != Ok(-1) {
        std::thread::yield_now();
    }
    let code = alone.commit(&mut client, 9, 6);
    assert_eq!(code, ErrorCode::UnknownTopicOrPartition);
    let broker = LocalBroker::with_topic(broker.stop().unwrap(), SETTINGS);
    assert_eq!(fetch_loaded(&mut broker.connect(), "g"), -1);
    broker.stop().unwrap();
}

fn delete_topic(client: &mut Connection) {
    let topic_names = vec![TOPIC.to_owned()];
    let deletion = DeleteTopicsRequest { topic_names, timeout_ms: 10_000, ..Default::default() };
    let deleted = client.call(5, &deletion).unwrap();
    assert_eq!(deleted.responses[0].error_code, ErrorCode::None);
}

#[test]
fn offsets_of_a_deleted_topic_are_forgotten_though_their_log_failed() {
    let mut settings = SETTINGS.to_vec();
    settings.push(("offsets.retention.check.interval.ms", "1000"));
    let broker = LocalBroker::new(10, &settings);
    let mut client = broker.connect();
    find(&mut client, 5, "g");
    assert_eq!(Member::without_group("g").commit(&mut client, 9, 5), ErrorCode::None);
    broker.disk.inject(Fault::new(Operation::Write, Failure::InputOutput).on(".log").for_ever());
    delete_topic(&mut client);
    assert_eq!(fetch(&mut client, 9, "g"), Ok(-1));
    broker.make_topic();
    assert_eq!(fetch(&mut client, 9, "g"), Ok(-1));
    broker.disk.clear_faults();
    // The next look forgets them for good, and the group with them.
    while state(&mut client, 5, "g").1 != "Dead" {
        std::thread::yield_now();
    }
    broker.stop().unwrap();
}

#[test]
fn a_power_cut_brings_no_offset_of_a_deleted_topic_back() {
    for is_made_anew in [false, true] {
        let broker = LocalBroker::new(11, SETTINGS);
        let mut client = broker.connect();
        client.produce(batch([0]), -1).unwrap().unwrap();
        find(&mut client, 5, "g");
        assert_eq!(Member::without_group("g").commit(&mut client, 9, 5), ErrorCode::None);
        // What the coordinator says of it does not reach the log.
        broker
            .disk
            .inject(Fault::new(Operation::Write, Failure::InputOutput).on(".log").for_ever());
        if !is_made_anew {
            // A shared store says that the topic was deleted as long as its data are there.
            let rule = Fault::new(Operation::Rename, Failure::InputOutput).on(".deleted");
            broker.disk.inject(rule.for_ever());
        }
        delete_topic(&mut client);
        if is_made_anew {
            broker.make_topic();
        }
        let disk = broker.cut_power(11);
        disk.clear_faults();
        let broker = LocalBroker::on(disk, SETTINGS).unwrap();
        let mut client = broker.connect();
        assert_eq!(fetch_loaded(&mut client, "g"), -1, "if it is made anew: {is_made_anew}");
        while state(&mut client, 5, "g").1 != "Dead" {
            std::thread::yield_now();
        }
        broker.stop().unwrap();
    }
}

#[test]
fn a_power_cut_loses_no_acknowledged_commit() {
    for seed in seeds(40) {
        println!("STREAMLOG_SEED={seed}");
        let mut random = Random::new(seed);
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
        disk.set_write_back(random.below(8));
        let mut broker = LocalBroker::with_topic(disk, SETTINGS);
        let mut acknowledged = -1;
        for _ in 0..4 {
            let mut client = broker.connect();
            find(&mut client, 5, "g");
            let stored = fetch_loaded(&mut client, "g");
            assert!(stored >= acknowledged, "{acknowledged} was acknowledged, {stored} is stored");
            acknowledged = stored;
            let alone = Member::without_group("g");
            for _ in 0..=random.below(20) {
                assert_eq!(alone.commit(&mut client, 9, acknowledged + 1), ErrorCode::None);
                acknowledged += 1;
            }
            // One more is under way.
            alone.send_commit(&mut client, 9, acknowledged + 1);
            broker = LocalBroker::on(broker.cut_power(random.number()), SETTINGS).unwrap();
        }
        broker.stop().unwrap();
    }
}
