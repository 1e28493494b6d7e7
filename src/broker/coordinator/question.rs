//! Requests to a coordinator, each with the type of its response, and the identity of the member
//! that asks.

use crate::group::{
    Answer, Claim, CommitRequest, CommittedOffset, DeleteOffsetsRequest, FetchOffsetsRequest,
    Generation, GroupDescription, GroupError, GroupFilter, GroupId, HeartbeatRequest, InstanceId,
    JoinRequest, Joined, LeaveRequest, LeaverResult, ListedGroup, MemberId, OffsetResult, Request,
    SyncRequest, Synced,
};
use crate::types::TopicPartition;

/// A request with the type of its response.
pub(crate) trait Question {
    /// The response on success.
    type Answer;

    /// Converts to the coordinator's request type.
    fn into_request(self) -> Request;

    /// Extracts the response; `None` if it belongs to another type of request.
    fn read(answer: Answer) -> Option<Result<Self::Answer, GroupError>>;
}

macro_rules! questions {
    ($($request:ty => $variant:ident -> $answer:ty,)*) => {$(
        impl Question for $request {
            type Answer = $answer;

            fn into_request(self) -> Request {
                Request::$variant(self)
            }

            fn read(answer: Answer) -> Option<Result<$answer, GroupError>> {
                match answer {
                    Answer::$variant(result) => Some(result),
                    _ => None,
                }
            }
        }
    )*};
}

questions! {
    JoinRequest => Join -> Joined,
    SyncRequest => Sync -> Synced,
    HeartbeatRequest => Heartbeat -> (),
    LeaveRequest => Leave -> Vec<LeaverResult>,
    CommitRequest => Commit -> Vec<OffsetResult>,
    FetchOffsetsRequest => FetchOffsets -> Vec<(TopicPartition, Option<CommittedOffset>)>,
    DeleteOffsetsRequest => DeleteOffsets -> Vec<OffsetResult>,
    GroupFilter => ListGroups -> Vec<ListedGroup>,
}

/// A request to describe one group with its members.
#[derive(Clone, Debug)]
pub(crate) struct DescribeGroup(pub(crate) GroupId);

impl Question for DescribeGroup {
    type Answer = GroupDescription;

    fn into_request(self) -> Request {
        Request::DescribeGroups(vec![self.0])
    }

    fn read(answer: Answer) -> Option<Result<GroupDescription, GroupError>> {
        match answer {
            Answer::DescribeGroups(mut groups) => groups.pop().map(|(_, result)| result),
            _ => None,
        }
    }
}

/// A request to delete one group that has no members.
#[derive(Clone, Debug)]
pub(crate) struct DeleteGroup(pub(crate) GroupId);

impl Question for DeleteGroup {
    type Answer = ();

    fn into_request(self) -> Request {
        Request::DeleteGroups(vec![self.0])
    }

    fn read(answer: Answer) -> Option<Result<(), GroupError>> {
        match answer {
            Answer::DeleteGroups(mut groups) => groups.pop().map(|(_, result)| result),
            _ => None,
        }
    }
}

/// Translates a member's identity. In the protocol, an empty string stands for no member id, and −1
/// for no generation.
pub(crate) fn claim(member: &str, instance: Option<&str>, generation: i32) -> Claim {
    Claim {
        member_id: member_id(member),
        instance_id: instance.map(InstanceId::from),
        generation: Generation(generation),
    }
}

/// Translates a member id; in the protocol, an empty string stands for no member id.
pub(crate) fn member_id(text: &str) -> Option<MemberId> {
    Some(text).filter(|text| !text.is_empty()).map(MemberId::from)
}
