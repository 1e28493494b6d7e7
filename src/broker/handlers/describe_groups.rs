//! `DescribeGroups`: state and members of groups.

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{DescribeGroup, Groups};
use crate::broker::errors::Coded;
use crate::group::{GroupDescription, GroupError, GroupId, GroupState, MemberDescription};
use crate::wire::ErrorCode;
use crate::wire::describe_groups::{DescribeGroupsRequest, DescribeGroupsResponse, Group, Member};

pub(crate) type Request = DescribeGroupsRequest;

/// The authorized operations of groups as a bit mask: Read, Delete, Describe and those of settings.
/// Nothing is denied.
const ALL_GROUP_OPERATIONS: i32 = 0b1101_0100_1000;

/// The first version that reports an unknown group as an error; earlier versions report it as dead.
const UNKNOWN_IS_ERROR_SINCE: i16 = 6;

/// Describes each group.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> DescribeGroupsResponse {
    let may = |id: &String| call.session.may(Operation::Describe, Resource::Group(id));
    let (allowed, refused): (Vec<_>, Vec<_>) = request.groups.into_iter().partition(may);
    let ids = allowed.iter().map(|id| GroupId::from(id.as_str()));
    let questions = ids.map(|id| (id.clone(), DescribeGroup(id))).collect();
    let results = groups.ask_each(questions).await;
    let described = allowed.into_iter().zip(results).map(|(id, result)| group(call, id, result));
    let mut groups: Vec<Group> = described.collect();
    if request.include_authorized_operations {
        for group in groups.iter_mut().filter(|group| group.error_code == ErrorCode::None) {
            group.authorized_operations = ALL_GROUP_OPERATIONS;
        }
    }
    groups.extend(refused.into_iter().map(|group_id| Group {
        error_code: ErrorCode::GroupAuthorizationFailed,
        group_id,
        ..Group::default()
    }));
    DescribeGroupsResponse { groups, ..DescribeGroupsResponse::default() }
}

fn group(call: &Call<'_>, group_id: String, result: Result<GroupDescription, GroupError>) -> Group {
    match result {
        Ok(described) => {
            let unknown =
                described.state == GroupState::Dead && call.version >= UNKNOWN_IS_ERROR_SINCE;
            Group {
                error_code: if unknown { ErrorCode::GroupIdNotFound } else { ErrorCode::None },
                error_message: unknown.then(|| format!("there is no group {group_id}")),
                group_id,
                group_state: described.state.name().to_owned(),
                protocol_type: described.protocol_type.to_string(),
                protocol_data: described.protocol.to_string(),
                members: described.members.into_iter().map(member).collect(),
                ..Group::default()
            }
        }
        Err(error) => Group {
            error_code: error.error_code(),
            error_message: Some(error.to_string()),
            group_id,
            ..Group::default()
        },
    }
}

fn member(member: MemberDescription) -> Member {
    Member {
        member_id: member.member_id.to_string(),
        group_instance_id: member.instance_id.map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        member_metadata: member.metadata,
        member_assignment: member.assignment,
    }
}
