//! What a member says to its coordinator, and how the answers are read.

use std::collections::{BTreeMap, BTreeSet};

use super::assignors::{Share, Wanting};
use super::config::GroupConfig;
use crate::client::ClientError;
use crate::config::HostPort;
use crate::types::{Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::{
    Assignment, ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, OffsetCommitRequest,
    OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, Subscription, SyncGroupRequest,
    TopicPartitions, WireError, join_group, leave_group, offset_commit, offset_fetch, sync_group,
};

/// What groups of consumers are for.
const PROTOCOL_TYPE: &str = "consumer";

/// The version of subscriptions and assignments, which all clients know.
const BLOB_VERSION: i16 = 1;

/// Who a member is within a generation of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) generation: i32,
    pub(crate) member: String,
}

fn group_id(group: &GroupConfig) -> String {
    group.id.clone().unwrap_or_default()
}

fn millis(time: std::time::Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}

pub(super) fn check(code: ErrorCode, about: &str, words: Option<&str>) -> Result<(), ClientError> {
    if code.is_error() { Err(ClientError::from_code(code, about, words)) } else { Ok(()) }
}

fn unreadable(error: &WireError) -> ClientError {
    ClientError::from_code(ErrorCode::InconsistentGroupProtocol, &error.to_string(), None)
}

/// Who keeps the group?
pub(super) fn find(group: &GroupConfig) -> FindCoordinatorRequest {
    FindCoordinatorRequest {
        key: group_id(group),
        coordinator_keys: vec![group_id(group)],
        ..FindCoordinatorRequest::default()
    }
}

pub(super) fn found(answer: &FindCoordinatorResponse) -> Result<HostPort, ClientError> {
    let (code, words, host, port) = match answer.coordinators.first() {
        Some(row) => (row.error_code, row.error_message.as_deref(), &row.host, row.port),
        None => (answer.error_code, answer.error_message.as_deref(), &answer.host, answer.port),
    };
    check(code, "finding the group's coordinator", words)?;
    let port = u16::try_from(port).unwrap_or(0);
    Ok(HostPort::new(host.clone(), port))
}

/// Let me be a member.
pub(super) fn join(
    group: &GroupConfig,
    member: &str,
    topics: &[TopicName],
) -> Result<JoinGroupRequest, ClientError> {
    let subscription = Subscription {
        topics: topics.iter().map(|topic| topic.as_str().to_owned()).collect(),
        ..Subscription::default()
    };
    let metadata = subscription.to_blob(BLOB_VERSION).map_err(|error| unreadable(&error))?;
    let protocol = |strategy: &super::assignors::Strategy| join_group::Protocol {
        name: strategy.name().to_owned(),
        metadata: metadata.clone(),
    };
    Ok(JoinGroupRequest {
        group_id: group_id(group),
        session_timeout_ms: millis(group.session_timeout),
        rebalance_timeout_ms: millis(group.rebalance_timeout),
        member_id: member.to_owned(),
        group_instance_id: group.instance_id.clone(),
        protocol_type: PROTOCOL_TYPE.to_owned(),
        protocols: group.strategies.iter().map(protocol).collect(),
        ..JoinGroupRequest::default()
    })
}

/// What every member wants, as the leader is told.
pub(super) fn wants(answer: &JoinGroupResponse) -> Result<Vec<Wanting>, ClientError> {
    let wanting = |member: &join_group::Member| {
        let subscription = Subscription::from_blob(&member.metadata);
        let topics: BTreeSet<String> =
            subscription.map_err(|error| unreadable(&error))?.topics.into_iter().collect();
        Ok(Wanting { member: member.member_id.clone(), topics })
    };
    answer.members.iter().map(wanting).collect()
}

/// What is my share? The leader brings everyone's.
pub(super) fn sync(
    group: &GroupConfig,
    seat: &Seat,
    shares: &BTreeMap<String, Share>,
) -> Result<SyncGroupRequest, ClientError> {
    let mut assignments = Vec::with_capacity(shares.len());
    for (member, share) in shares {
        let topic = |(topic, partitions): (&String, &Vec<i32>)| TopicPartitions {
            topic: topic.clone(),
            partitions: partitions.clone(),
        };
        let assigned_partitions = share.iter().map(topic).collect();
        let assignment = Assignment { assigned_partitions, ..Assignment::default() };
        assignments.push(sync_group::MemberAssignment {
            member_id: member.clone(),
            assignment: assignment.to_blob(BLOB_VERSION).map_err(|error| unreadable(&error))?,
        });
    }
    Ok(SyncGroupRequest {
        group_id: group_id(group),
        generation_id: seat.generation,
        member_id: seat.member.clone(),
        group_instance_id: group.instance_id.clone(),
        assignments,
        ..SyncGroupRequest::default()
    })
}

/// The partitions of a share as it came; empty is nothing at all.
pub(super) fn share(blob: &[u8]) -> Result<Vec<TopicPartition>, ClientError> {
    if blob.is_empty() {
        return Ok(Vec::new());
    }
    let assignment = Assignment::from_blob(blob).map_err(|error| unreadable(&error))?;
    let mut share = Vec::new();
    for row in assignment.assigned_partitions {
        let Ok(topic) = row.topic.parse::<TopicName>() else { continue };
        share.extend(row.partitions.into_iter().map(|partition| TopicPartition {
            topic: topic.clone(),
            partition: PartitionIndex(partition),
        }));
    }
    Ok(share)
}

/// I am alive.
pub(super) fn heartbeat(group: &GroupConfig, seat: &Seat) -> HeartbeatRequest {
    HeartbeatRequest {
        group_id: group_id(group),
        generation_id: seat.generation,
        member_id: seat.member.clone(),
        group_instance_id: group.instance_id.clone(),
    }
}

/// I leave. A member with a name of its own does not: it keeps its share until it is back.
pub(super) fn leave(group: &GroupConfig, seat: &Seat) -> Option<LeaveGroupRequest> {
    group.instance_id.is_none().then(|| LeaveGroupRequest {
        group_id: group_id(group),
        member_id: seat.member.clone(),
        members: vec![leave_group::RequestMember {
            member_id: seat.member.clone(),
            ..leave_group::RequestMember::default()
        }],
    })
}

/// So far have I come.
pub(super) fn commit(
    group: &GroupConfig,
    seat: &Seat,
    offsets: &[(TopicPartition, Offset)],
) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&TopicName, Vec<offset_commit::RequestPartition>> = BTreeMap::new();
    for (partition, offset) in offsets {
        let row = offset_commit::RequestPartition {
            partition_index: partition.partition.0,
            committed_offset: offset.get(),
            ..offset_commit::RequestPartition::default()
        };
        topics.entry(&partition.topic).or_default().push(row);
    }
    let topic = |(name, partitions): (&TopicName, _)| offset_commit::RequestTopic {
        name: name.as_str().to_owned(),
        partitions,
    };
    OffsetCommitRequest {
        group_id: group_id(group),
        generation_id_or_member_epoch: seat.generation,
        member_id: seat.member.clone(),
        group_instance_id: group.instance_id.clone(),
        topics: topics.into_iter().map(topic).collect(),
        ..OffsetCommitRequest::default()
    }
}

pub(super) fn check_commit(answer: &OffsetCommitResponse) -> Result<(), ClientError> {
    let rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
    rows.into_iter().try_for_each(|row| check(row.error_code, "committing offsets", None))
}

/// How far had we come?
pub(super) fn stored(group: &GroupConfig, share: &[TopicPartition]) -> OffsetFetchRequest {
    let mut topics: BTreeMap<&TopicName, Vec<i32>> = BTreeMap::new();
    for partition in share {
        topics.entry(&partition.topic).or_default().push(partition.partition.0);
    }
    let topic = |(name, partition_indexes): (&TopicName, _)| offset_fetch::RequestTopic {
        name: name.as_str().to_owned(),
        partition_indexes,
    };
    let topics: Vec<offset_fetch::RequestTopic> = topics.into_iter().map(topic).collect();
    OffsetFetchRequest {
        group_id: group_id(group),
        topics: Some(topics.clone()),
        groups: vec![offset_fetch::RequestGroup {
            group_id: group_id(group),
            topics: Some(topics),
            ..offset_fetch::RequestGroup::default()
        }],
        ..OffsetFetchRequest::default()
    }
}

/// The offsets stored; partitions without one are left out.
pub(super) fn read_stored(
    answer: &OffsetFetchResponse,
) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
    let about = "fetching committed offsets";
    check(answer.error_code, about, None)?;
    let mut rows: Vec<&offset_fetch::Topic> = answer.topics.iter().collect();
    for group in &answer.groups {
        check(group.error_code, about, None)?;
        rows.extend(&group.topics);
    }
    let mut stored = BTreeMap::new();
    for topic in rows {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        for row in &topic.partitions {
            check(row.error_code, about, None)?;
            let partition = PartitionIndex(row.partition_index);
            if let Some(offset) = Offset::checked(row.committed_offset) {
                stored.insert(TopicPartition { topic: name.clone(), partition }, offset);
            }
        }
    }
    Ok(stored)
}
