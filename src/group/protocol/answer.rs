//! What a coordinator answers, free of the wire's versions.

use std::sync::Arc;

use bytes::Bytes;

use crate::group::{
    CommittedOffset, Generation, GroupError, GroupId, GroupState, InstanceId, Leaver, MemberId,
    OffsetRefusal,
};
use crate::types::TopicPartition;

/// The answer to one request, of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The generation joined.
    Join(Result<Joined, GroupError>),
    /// The member's assignment.
    Sync(Result<Synced, GroupError>),
    /// The member is known and need not do anything.
    Heartbeat(Result<(), GroupError>),
    /// Each leaver's fate, in the order of the request.
    Leave(Result<Vec<LeaverResult>, GroupError>),
    /// Each offset's fate, in the order of the request.
    Commit(Result<Vec<OffsetResult>, GroupError>),
    /// Each partition asked for, with what is stored for it.
    FetchOffsets(Result<Vec<(TopicPartition, Option<CommittedOffset>)>, GroupError>),
    /// Each offset's fate, in the order of the request.
    DeleteOffsets(Result<Vec<OffsetResult>, GroupError>),
    /// Each group's fate, in the order of the request.
    DeleteGroups(Vec<(GroupId, Result<(), GroupError>)>),
    /// The groups that pass the filter.
    ListGroups(Result<Vec<ListedGroup>, GroupError>),
    /// Each group asked for.
    DescribeGroups(Vec<(GroupId, Result<GroupDescription, GroupError>)>),
}

/// What became of one leaver.
pub type LeaverResult = (Leaver, Result<(), GroupError>);

/// What became of one partition's offset.
pub type OffsetResult = (TopicPartition, Result<(), OffsetRefusal>);

impl Answer {
    /// The same answer, had the decision behind it failed as a whole.
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
                    // A group that was refused stays refused for its own reason.
                    .map(|(id, result)| (id, result.and_then(|()| Err(error.clone()))))
                    .collect(),
            ),
            Self::DescribeGroups(groups) => Self::DescribeGroups(
                groups.into_iter().map(|(id, _)| (id, Err(error.clone()))).collect(),
            ),
        }
    }
}

/// A member's place in a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The member's id from now on.
    pub member_id: MemberId,
    /// The generation.
    pub generation: Generation,
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The protocol that was chosen.
    pub protocol: Arc<str>,
    /// The member that assigns.
    pub leader: MemberId,
    /// Whether the leader is to leave the assignment as it is.
    pub skip_assignment: bool,
    /// To the leader, all members; to others, none.
    pub members: Vec<JoinedMember>,
}

/// A member as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its static name.
    pub instance_id: Option<InstanceId>,
    /// What it said for the chosen protocol.
    pub metadata: Bytes,
}

/// A member's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The group's protocol type.
    pub protocol_type: Arc<str>,
    /// The protocol that was chosen.
    pub protocol: Arc<str>,
    /// As the leader wrote it; empty if the leader left the member out.
    pub assignment: Bytes,
}

/// A line of the list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its id.
    pub group_id: GroupId,
    /// Its protocol type; empty for a group that only stores offsets.
    pub protocol_type: Arc<str>,
    /// Its state.
    pub state: GroupState,
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its state; [`GroupState::Dead`] if there is no such group.
    pub state: GroupState,
    /// Its protocol type; empty for a group that only stores offsets.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless the group is stable.
    pub protocol: Arc<str>,
    /// Its members, by id.
    pub members: Vec<MemberDescription>,
}

/// A member as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    /// Its id.
    pub member_id: MemberId,
    /// Its static name.
    pub instance_id: Option<InstanceId>,
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// Where it is.
    pub client_host: Arc<str>,
    /// What it said for the chosen protocol; empty unless the group is stable.
    pub metadata: Bytes,
    /// Its assignment.
    pub assignment: Bytes,
}
