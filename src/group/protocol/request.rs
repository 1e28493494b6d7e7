//! The requests to a coordinator, independent of protocol versions.
//!
//! The caller translates the protocol's sentinels: an empty member id is `None`, and a generation
//! of −1 is [`Generation::NONE`]. A committed offset may be negative.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::group::{Generation, GroupId, InstanceId, MemberId};
use crate::types::{LeaderEpoch, TopicId, TopicPartition};

/// One request to a coordinator.
#[derive(Clone, Debug)]
pub enum Request {
    /// Join the next generation, as a new or existing member. Answered once it is complete.
    Join(JoinRequest),
    /// Submit the assignments (as leader), and fetch the member's own. Answered once they are
    /// stored.
    Sync(SyncRequest),
    /// Extend the session.
    Heartbeat(HeartbeatRequest),
    /// Leave the group.
    Leave(LeaveRequest),
    /// Store offsets.
    Commit(CommitRequest),
    /// Fetch committed offsets.
    FetchOffsets(FetchOffsetsRequest),
    /// Delete committed offsets.
    DeleteOffsets(DeleteOffsetsRequest),
    /// Delete groups that have no members.
    DeleteGroups(Vec<GroupId>),
    /// List the groups of this coordinator.
    ListGroups(GroupFilter),
    /// Describe groups with their members.
    DescribeGroups(Vec<GroupId>),
}

/// The identity that a request claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The member id assigned by the coordinator.
    pub member_id: Option<MemberId>,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
    /// The generation of the join response.
    pub generation: Generation,
}

/// A `JoinGroup` request.
#[derive(Clone, Debug)]
pub struct JoinRequest {
    /// The group to join.
    pub group_id: GroupId,
    /// The member id; `None` for a member's first join.
    pub member_id: Option<MemberId>,
    /// The static member's name, if any.
    pub instance_id: Option<InstanceId>,
    /// Random part of a new member's id; the caller draws it, so that the coordinator stays
    /// deterministic.
    pub new_member: Uuid,
    /// The `client.id`, used as the prefix of a new member's id.
    pub client_id: Arc<str>,
    /// The client's host as tools show it (Kafka: `/127.0.0.1`).
    pub client_host: Arc<str>,
    /// The time without requests after which the member expires.
    pub session_timeout: Duration,
    /// The time that a rebalance waits for this member (before version 1: the session timeout).
    pub rebalance_timeout: Duration,
    /// The protocol type: `consumer`, `connect`, ...
    pub protocol_type: Arc<str>,
    /// The protocols that the member supports, preferred first.
    pub protocols: Vec<Protocol>,
    /// True if a dynamic newcomer must join again with an assigned id (version 4 and later).
    pub member_id_required: bool,
    /// True if the leader understands `skip_assignment` (version 9 and later).
    pub can_skip_assignment: bool,
}

/// A protocol that a member supports, with its metadata for the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The name; for consumers, of the assignor: `range`, `cooperative-sticky`, ...
    pub name: Arc<str>,
    /// Opaque metadata; for consumers, the subscription.
    pub metadata: Bytes,
}

/// A `SyncGroup` request.
#[derive(Clone, Debug)]
pub struct SyncRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The identity of the member.
    pub claim: Claim,
    /// The protocol type that the client expects (version 5 and later).
    pub protocol_type: Option<Arc<str>>,
    /// The protocol that the client expects (version 5 and later).
    pub protocol: Option<Arc<str>>,
    /// The assignments of all members, if the member is the leader.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// A `Heartbeat` request.
#[derive(Clone, Debug)]
pub struct HeartbeatRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The identity of the member.
    pub claim: Claim,
}

/// A `LeaveGroup` request.
#[derive(Clone, Debug)]
pub struct LeaveRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The leaving members; more than one only from an administrator.
    pub members: Vec<Leaver>,
}

/// A member that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaver {
    /// The member id; `None` removes a static member whatever its current id.
    pub member_id: Option<MemberId>,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
}

/// An `OffsetCommit` request. The caller checks that the partitions exist.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The identity of the member; empty with [`Generation::NONE`] for a consumer without a group.
    pub claim: Claim,
    /// The time to keep the offsets, if the request contains it (before version 5).
    pub retention: Option<Duration>,
    /// The offsets to store.
    pub offsets: Vec<NewOffset>,
}

/// An offset to store.
#[derive(Clone, Debug)]
pub struct NewOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// The next offset to consume; negative values make consumers apply their reset policy.
    pub offset: i64,
    /// The leader epoch of the previous record, or [`LeaderEpoch::NONE`].
    pub leader_epoch: LeaderEpoch,
    /// The consumer's metadata.
    pub metadata: Arc<str>,
    /// The topic id, or [`TopicId::NONE`]: the topic may be deleted and recreated under its name.
    pub topic_id: TopicId,
}

/// An `OffsetFetch` request for one group.
#[derive(Clone, Debug)]
pub struct FetchOffsetsRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The partitions; `None` for all with a committed offset.
    pub partitions: Option<Vec<TopicPartition>>,
}

/// An `OffsetDelete` request.
#[derive(Clone, Debug)]
pub struct DeleteOffsetsRequest {
    /// The group id.
    pub group_id: GroupId,
    /// The partitions whose offsets are deleted.
    pub partitions: Vec<TopicPartition>,
}

/// A filter for the list of groups; an empty list accepts everything. Case is ignored.
#[derive(Clone, Debug, Default)]
pub struct GroupFilter {
    /// Names of states.
    pub states: Vec<String>,
    /// Names of group types; all groups of streamlog are `classic`.
    pub types: Vec<String>,
}
