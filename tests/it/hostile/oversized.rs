//! Well-formed requests that ask for more than a broker gives: each gets the protocol's own error,
//! on a connection that goes on.

use bytes::Bytes;
use streamlog::wire::fetch::{self, FetchRequest};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::join_group::{JoinGroupRequest, Protocol};
use streamlog::wire::offset_commit::{self, OffsetCommitRequest};
use streamlog::wire::sync_group::{MemberAssignment, SyncGroupRequest};
use streamlog::wire::{ErrorCode, ListGroupsRequest};

use crate::support::{Connection, LocalBroker, TOPIC, Witness};

const MILLION: usize = 1_000_000;

const SETTINGS: &[(&str, &str)] = &[
    ("offsets.topic.num.partitions", "1"),
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.max.size", "5"),
];

fn broker(seed: u64) -> LocalBroker {
    let broker = LocalBroker::new(seed, SETTINGS);
    let find = FindCoordinatorRequest { key: "g".to_owned(), ..Default::default() };
    assert_eq!(broker.connect().call(3, &find).unwrap().error_code, ErrorCode::None);
    broker
}

fn join(protocols: Vec<Protocol>) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: "g".to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".to_owned(),
        protocols,
        ..Default::default()
    }
}

fn protocol(name: &str, bytes: usize) -> Protocol {
    Protocol { name: name.to_owned(), metadata: Bytes::from(vec![0; bytes]) }
}

/// The group has no members, and its coordinator answers.
fn nobody_joined(client: &mut Connection) {
    let listed = client.call(4, &ListGroupsRequest::default()).unwrap();
    assert_eq!((listed.error_code, listed.groups), (ErrorCode::None, Vec::new()));
}

#[test]
fn a_member_with_ten_megabytes_of_metadata_or_a_million_protocols_does_not_join() {
    let broker = broker(1);
    let mut witness = Witness::of(&broker);
    let mut client = broker.connect();
    for version in [3, 5] {
        let large = join(vec![protocol("range", 10 << 20)]);
        let code = client.call(version, &large).unwrap().error_code;
        assert_eq!(code, ErrorCode::MessageTooLarge, "version {version}");
        let many = join((0..MILLION).map(|nth| protocol(&format!("p{nth}"), 8)).collect());
        let code = client.call(version, &many).unwrap().error_code;
        assert_eq!(code, ErrorCode::InconsistentGroupProtocol, "version {version}");
        nobody_joined(&mut client);
        witness.sees_no_harm();
    }
}

#[test]
fn a_group_takes_so_many_members_and_no_more_however_many_come() {
    let broker = broker(2);
    let mut witness = Witness::of(&broker);
    let mut client = broker.connect();
    let request = join(vec![protocol("range", 0)]);
    let mut codes = Vec::new();
    for _ in 0..1_000 {
        codes.push(client.call(5, &request).unwrap().error_code);
    }
    let (handed_out, refused) = codes.split_at(5);
    assert!(handed_out.iter().all(|code| *code == ErrorCode::MemberIdRequired));
    assert!(refused.iter().all(|code| *code == ErrorCode::GroupMaxSizeReached));
    witness.sees_no_harm();
}

#[test]
fn a_million_assignments_for_nobody_are_refused() {
    let broker = broker(3);
    let mut witness = Witness::of(&broker);
    let mut client = broker.connect();
    let assignment = |nth: usize| MemberAssignment {
        member_id: format!("member {nth:9}"),
        assignment: Bytes::from_static(&[0; 8]),
    };
    let request = SyncGroupRequest {
        group_id: "g".to_owned(),
        generation_id: 1,
        member_id: "member".to_owned(),
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignments: (0..MILLION).map(assignment).collect(),
        ..Default::default()
    };
    let code = client.call(5, &request).unwrap().error_code;
    assert_eq!(code, ErrorCode::UnknownMemberId);
    witness.sees_no_harm();
}

#[test]
fn a_commit_with_more_text_than_allowed_is_refused_for_its_partition_alone() {
    let broker = broker(4);
    let mut client = broker.connect();
    let mut witness = Witness::of(&broker);
    let request = |bytes: usize| {
        let partition = offset_commit::RequestPartition {
            committed_offset: 1,
            committed_metadata: Some("x".repeat(bytes)),
            ..Default::default()
        };
        let name = TOPIC.to_owned();
        OffsetCommitRequest {
            group_id: "g".to_owned(),
            generation_id_or_member_epoch: -1,
            topics: vec![offset_commit::RequestTopic {
                name,
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        }
    };
    for (bytes, code) in [
        (5_000, ErrorCode::OffsetMetadataTooLarge),
        (4_097, ErrorCode::OffsetMetadataTooLarge),
        (4_096, ErrorCode::None),
    ] {
        let answered = client.call(7, &request(bytes)).unwrap();
        assert_eq!(answered.topics[0].partitions[0].error_code, code, "{bytes} bytes");
    }
    witness.sees_no_harm();
}

#[test]
fn a_fetch_of_a_million_partitions_that_do_not_exist_tells_so_of_each() {
    let broker = broker(5);
    let mut witness = Witness::of(&broker);
    let asked = |partition| fetch::RequestPartition { partition, ..Default::default() };
    let count = i32::try_from(MILLION).unwrap();
    let partitions = (1..=count).map(asked).collect();
    let topic = fetch::RequestTopic { topic: TOPIC.to_owned(), partitions, ..Default::default() };
    let request = FetchRequest { max_wait_ms: 10, topics: vec![topic], ..Default::default() };
    let answered = broker.connect().call(12, &request).unwrap();
    let partitions = &answered.topics[0].partitions;
    assert_eq!(partitions.len(), MILLION);
    let unknown = ErrorCode::UnknownTopicOrPartition;
    assert!(partitions.iter().all(|partition| partition.error_code == unknown));
    witness.sees_no_harm();
}
