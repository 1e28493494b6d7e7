//! Group protocol requests of a member, and reading the responses.

use std::collections::{BTreeMap, BTreeSet};

use super::assignors::{PartitionsByTopic, Subscriber};
use crate::client::consumer::config::{GroupConfig, Strategy};
use crate::client::{ClientError, committed};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::{
    Assignment, ErrorCode, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, Subscription, SyncGroupRequest,
    TopicPartitions, WireError, join_group, leave_group, sync_group,
};

/// The protocol type of consumer groups.
const PROTOCOL_TYPE: &str = "consumer";

/// The version of subscriptions and assignments, supported by all clients.
const BLOB_VERSION: i16 = 1;

/// A member's id with the generation of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberIdentity {
    pub(crate) generation: i32,
    pub(crate) member: String,
}

fn group_id(group: &GroupConfig) -> String {
    group.id.clone().unwrap_or_default()
}

fn millis(time: std::time::Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}

fn unreadable(error: &WireError) -> ClientError {
    ClientError::from_code(ErrorCode::InconsistentGroupProtocol, &error.to_string(), None)
}

/// Builds a `JoinGroup` request.
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
    let protocol = |strategy: &Strategy| join_group::Protocol {
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

/// Reads every member's subscription, which only the group's leader receives.
pub(super) fn subscriptions(answer: &JoinGroupResponse) -> Result<Vec<Subscriber>, ClientError> {
    let subscriber = |member: &join_group::Member| {
        let subscription = Subscription::from_blob(&member.metadata);
        let topics: BTreeSet<String> =
            subscription.map_err(|error| unreadable(&error))?.topics.into_iter().collect();
        Ok(Subscriber { member: member.member_id.clone(), topics })
    };
    answer.members.iter().map(subscriber).collect()
}

/// Builds a `SyncGroup` request. The leader's carries every member's assignment.
pub(super) fn sync(
    group: &GroupConfig,
    joined: &JoinGroupResponse,
    by_member: &BTreeMap<String, PartitionsByTopic>,
) -> Result<SyncGroupRequest, ClientError> {
    let mut assignments = Vec::with_capacity(by_member.len());
    for (member, share) in by_member {
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
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        group_instance_id: group.instance_id.clone(),
        // Brokers refuse a request without the agreed protocol (KIP-559).
        protocol_type: Some(PROTOCOL_TYPE.to_owned()),
        protocol_name: joined.protocol_name.clone(),
        assignments,
    })
}

/// Reads the partitions of an assignment; an empty blob assigns none.
pub(crate) fn read_assignment(blob: &[u8]) -> Result<Vec<TopicPartition>, ClientError> {
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

/// Builds a heartbeat.
pub(super) fn heartbeat(group: &GroupConfig, identity: &MemberIdentity) -> HeartbeatRequest {
    HeartbeatRequest {
        group_id: group_id(group),
        generation_id: identity.generation,
        member_id: identity.member.clone(),
        group_instance_id: group.instance_id.clone(),
    }
}

/// Builds a `LeaveGroup` request. A static member sends none: it keeps its assignment until it
/// returns (KIP-345).
pub(super) fn leave(group: &GroupConfig, name: &str) -> Option<LeaveGroupRequest> {
    group.instance_id.is_none().then(|| LeaveGroupRequest {
        group_id: group_id(group),
        member_id: name.to_owned(),
        members: vec![leave_group::RequestMember {
            member_id: name.to_owned(),
            ..leave_group::RequestMember::default()
        }],
    })
}

/// Builds an `OffsetCommit` request of a member, with the leader epochs of the records before the
/// offsets.
pub(super) fn commit(
    group: &GroupConfig,
    identity: &MemberIdentity,
    (offsets, epochs): (&[(TopicPartition, Offset)], &BTreeMap<TopicPartition, LeaderEpoch>),
) -> OffsetCommitRequest {
    OffsetCommitRequest {
        generation_id_or_member_epoch: identity.generation,
        member_id: identity.member.clone(),
        group_instance_id: group.instance_id.clone(),
        ..committed::request(&group_id(group), offsets, epochs)
    }
}

/// Builds a request for the committed offsets of an assignment.
pub(super) fn fetch_committed(group: &GroupConfig, share: &[TopicPartition]) -> OffsetFetchRequest {
    committed::question(&group_id(group), Some(share))
}
