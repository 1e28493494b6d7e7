//! What a coordinator is asked, free of the wire's versions.
//!
//! The caller has translated the wire's sentinels: an empty member id or instance id is `None`,
//! a generation of −1 is [`Generation::NONE`], and no offset is negative.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use crate::group::{Generation, GroupId, InstanceId, MemberId};
use crate::types::{LeaderEpoch, TopicId, TopicPartition};

/// One request to a coordinator.
#[derive(Clone, Debug)]
pub enum Request {
    /// Become, or stay, a member of the next generation. Answered when that is complete.
    Join(JoinRequest),
    /// Hand over the assignments (the leader) and get one's own. Answered when they are stored.
    Sync(SyncRequest),
    /// Show a sign of life.
    Heartbeat(HeartbeatRequest),
    /// Stop being members.
    Leave(LeaveRequest),
    /// Store offsets.
    Commit(CommitRequest),
    /// Read stored offsets.
    FetchOffsets(FetchOffsetsRequest),
    /// Forget stored offsets.
    DeleteOffsets(DeleteOffsetsRequest),
    /// Forget groups that have no members.
    DeleteGroups(Vec<GroupId>),
    /// List the groups of this coordinator.
    ListGroups(GroupFilter),
    /// Show groups with their members.
    DescribeGroups(Vec<GroupId>),
}

/// Who a request says it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The id the coordinator gave.
    pub member_id: Option<MemberId>,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
    /// The generation of the join answer.
    pub generation: Generation,
}

/// `JoinGroup`.
#[derive(Clone, Debug)]
pub struct JoinRequest {
    /// The group to join.
    pub group_id: GroupId,
    /// `None` for a member's first join.
    pub member_id: Option<MemberId>,
    /// Set by static members.
    pub instance_id: Option<InstanceId>,
    /// Random, for the id of a new member: the caller draws it, so that the group stays a function.
    pub new_member: Uuid,
    /// `client.id`, the start of a new member's id.
    pub client_id: Arc<str>,
    /// Where the client is, as the tools show it (Kafka: `/127.0.0.1`).
    pub client_host: Arc<str>,
    /// The member is dead after this long without a sign of life.
    pub session_timeout: Duration,
    /// How long a rebalance waits for this member (before version 1: the session timeout).
    pub rebalance_timeout: Duration,
    /// `consumer`, `connect`, ...
    pub protocol_type: Arc<str>,
    /// What the member can do, best first.
    pub protocols: Vec<Protocol>,
    /// Whether a dynamic newcomer has to ask twice (version 4 and later).
    pub member_id_required: bool,
    /// Whether the leader understands "keep the assignment" (version 9 and later).
    pub can_skip_assignment: bool,
}

/// One way in which a member can take part, with what it tells the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// For consumers, the assignor: `range`, `cooperative-sticky`, ...
    pub name: Arc<str>,
    /// Opaque; for consumers, the subscription.
    pub metadata: Bytes,
}

/// `SyncGroup`.
#[derive(Clone, Debug)]
pub struct SyncRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub claim: Claim,
    /// The type it believes the group has (version 5 and later).
    pub protocol_type: Option<Arc<str>>,
    /// The protocol it believes was chosen (version 5 and later).
    pub protocol: Option<Arc<str>>,
    /// From the leader, an assignment for each member.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// `Heartbeat`.
#[derive(Clone, Debug)]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub claim: Claim,
}

/// `LeaveGroup`.
#[derive(Clone, Debug)]
pub struct LeaveRequest {
    /// The group.
    pub group_id: GroupId,
    /// Who leaves; more than one only from an administrator.
    pub members: Vec<Leaver>,
}

/// A member to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaver {
    /// `None` removes a static member whatever its life.
    pub member_id: Option<MemberId>,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
}

/// `OffsetCommit`. Whether the partitions exist is the caller's business.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member; nobody and [`Generation::NONE`] for a consumer without a group.
    pub claim: Claim,
    /// How long to keep the offsets, when the request says so (before version 5).
    pub retention: Option<Duration>,
    /// What to store.
    pub offsets: Vec<NewOffset>,
}

/// An offset to be stored.
#[derive(Clone, Debug)]
pub struct NewOffset {
    /// Of which partition.
    pub partition: TopicPartition,
    /// The next offset to consume; negative where consumers start by their own policy.
    pub offset: i64,
    /// Epoch of the record before, or [`LeaderEpoch::NONE`].
    pub leader_epoch: LeaderEpoch,
    /// The consumer's own note.
    pub metadata: Arc<str>,
    /// Which topic that is, or [`TopicId::NONE`]: another of its name may come after it.
    pub topic_id: TopicId,
}

/// `OffsetFetch` for one group.
#[derive(Clone, Debug)]
pub struct FetchOffsetsRequest {
    /// The group.
    pub group_id: GroupId,
    /// `None` for all that are stored.
    pub partitions: Option<Vec<TopicPartition>>,
}

/// `OffsetDelete`.
#[derive(Clone, Debug)]
pub struct DeleteOffsetsRequest {
    /// The group.
    pub group_id: GroupId,
    /// Whose offsets to forget.
    pub partitions: Vec<TopicPartition>,
}

/// Which groups to list; an empty filter lets all pass. Case does not matter.
#[derive(Clone, Debug, Default)]
pub struct GroupFilter {
    /// Names of states.
    pub states: Vec<String>,
    /// Names of types; all groups here are `classic`.
    pub types: Vec<String>,
}
