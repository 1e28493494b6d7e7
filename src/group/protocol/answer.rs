//! The responses of a coordinator, independent of protocol versions, and the states of groups that
//! responses report.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::group::{
    CommittedOffset, Generation, GroupError, GroupId, InstanceId, Leaver, MemberId, OffsetRefusal,
};
use crate::types::TopicPartition;

/// The response to the request of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The generation joined.
    Join(Result<Joined, GroupError>),
    /// The member's assignment.
    Sync(Result<Synced, GroupError>),
    /// The member is known and need not rejoin.
    Heartbeat(Result<(), GroupError>),
    /// The result for each leaving member, in the order of the request.
    Leave(Result<Vec<LeaverResult>, GroupError>),
    /// The result for each offset, in the order of the request.
    Commit(Result<Vec<OffsetResult>, GroupError>),
    /// The committed offset of each requested partition.
    FetchOffsets(Result<Vec<(TopicPartition, Option<CommittedOffset>)>, GroupError>),
    /// The result for each offset, in the order of the request.
    DeleteOffsets(Result<Vec<OffsetResult>, GroupError>),
    /// The result for each group, in the order of the request.
    DeleteGroups(Vec<(GroupId, Result<(), GroupError>)>),
    /// The groups that pass the filter.
    ListGroups(Result<Vec<ListedGroup>, GroupError>),
    /// The description of each requested group.
    DescribeGroups(Vec<(GroupId, Result<GroupDescription, GroupError>)>),
}

/// The result for one leaving member.
pub type LeaverResult = (Leaver, Result<(), GroupError>);

/// The result for the offset of one partition.
pub type OffsetResult = (TopicPartition, Result<(), OffsetRefusal>);

impl Answer {
    /// Converts the response to that of an operation that failed as a whole with `error`.
    #[must_use]
    pub(in crate::group) fn failed(self, error: &GroupError) -> Self {
        match self {
            Self::Join(_) => Self::Join(Err(error.clone())),
            Self::Sync(_) => Self::Sync(Err(error.clone())),
            Self::Heartbeat(_) => Self::Heartbeat(Err(error.clone())),
            Self::Leave(_) => Self::Leave(Err(error.clone())),
            Self::Commit(_) => Self::Commit(Err(error.clone())),
            Self::FetchOffsets(_) => Self::FetchOffsets(Err(error.clone())),
            Self::DeleteOffsets(_) => Self::DeleteOffsets(Err(error.clone())),
            Self::ListGroups(_) => Self::ListGroups(Err(error.clone())),
            Self::DeleteGroups(groups) => Self::DeleteGroups(
                groups
                    .into_iter()
                    // A group that was refused keeps its own reason.
                    .map(|(id, result)| (id, result.and_then(|()| Err(error.clone()))))
                    .collect(),
            ),
            Self::DescribeGroups(groups) => Self::DescribeGroups(
                groups.into_iter().map(|(id, _)| (id, Err(error.clone()))).collect(),
            ),
        }
    }
}

/// The response to a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The member id to use from now on.
    pub member_id: MemberId,
    /// The generation.
    pub generation: Generation,
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The chosen protocol.
    pub protocol: Arc<str>,
    /// The member that computes the assignment.
    pub leader: MemberId,
    /// True if the leader must keep the existing assignment.
    pub skip_assignment: bool,
    /// All members, for the leader; empty for other members.
    pub members: Vec<JoinedMember>,
}

/// A member as its group leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// The member id.
    pub member_id: MemberId,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
    /// The member's metadata for the chosen protocol.
    pub metadata: Bytes,
}

/// A member's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The chosen protocol.
    pub protocol: Arc<str>,
    /// The leader's assignment; empty if the leader left the member out.
    pub assignment: Bytes,
}

/// An entry in the list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group id.
    pub group_id: GroupId,
    /// The protocol type; empty for a group that only stores offsets.
    pub protocol_type: Arc<str>,
    /// The state.
    pub state: GroupState,
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// The state; [`GroupState::Dead`] if there is no such group.
    pub state: GroupState,
    /// The protocol type; empty for a group that only stores offsets.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless the group is stable.
    pub protocol: Arc<str>,
    /// The members, by id.
    pub members: Vec<MemberDescription>,
}

/// The description of a member for administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    /// The member id.
    pub member_id: MemberId,
    /// The static member's name.
    pub instance_id: Option<InstanceId>,
    /// The `client.id`.
    pub client_id: Arc<str>,
    /// The client's host.
    pub client_host: Arc<str>,
    /// The member's metadata for the chosen protocol; empty unless the group is stable.
    pub metadata: Bytes,
    /// The assignment.
    pub assignment: Bytes,
}

/// The state of a group, by Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// No members; possibly offsets.
    Empty,
    /// A rebalance gathers the members of the next generation.
    PreparingRebalance,
    /// The members are fixed; the leader's assignment is not available, or not replicated yet.
    CompletingRebalance,
    /// Every member can fetch its assignment.
    Stable,
    /// The group does not exist.
    Dead,
}

impl GroupState {
    /// Kafka's name for the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
