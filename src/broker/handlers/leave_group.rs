//! `LeaveGroup`: removes members, on their own or an administrator's request.

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, member_id};
use crate::broker::errors::Coded;
use crate::group::{GroupId, InstanceId, LeaveRequest, Leaver, LeaverResult};
use crate::wire::ErrorCode;
use crate::wire::leave_group::{LeaveGroupRequest, LeaveGroupResponse, Member};

pub(crate) type Request = LeaveGroupRequest;

/// The last version with a single member; its error is reported as the error of the response.
const LAST_SINGLE: i16 = 2;

/// Removes members.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> LeaveGroupResponse {
    match leave(call, groups, request).await {
        Ok(results) => answer(call.version, results),
        Err(error_code) => LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() },
    }
}

async fn leave(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> Result<Vec<LeaverResult>, ErrorCode> {
    if !call.session.may(Operation::Read, Resource::Group(&request.group_id)) {
        return Err(ErrorCode::GroupAuthorizationFailed);
    }
    let members = if call.version <= LAST_SINGLE {
        vec![Leaver { member_id: member_id(&request.member_id), instance_id: None }]
    } else {
        let leaver = |member: &crate::wire::leave_group::RequestMember| Leaver {
            member_id: member_id(&member.member_id),
            instance_id: member.group_instance_id.as_deref().map(InstanceId::from),
        };
        request.members.iter().map(leaver).collect()
    };
    let group_id = GroupId::from(request.group_id.as_str());
    let question = LeaveRequest { group_id: group_id.clone(), members };
    groups.ask(&group_id, question).await.map_err(|error| error.error_code())
}

fn answer(version: i16, results: Vec<LeaverResult>) -> LeaveGroupResponse {
    let members: Vec<Member> = results.into_iter().map(member).collect();
    let error_code = match members.first() {
        Some(member) if version <= LAST_SINGLE => member.error_code,
        _ => ErrorCode::None,
    };
    LeaveGroupResponse { error_code, members, ..LeaveGroupResponse::default() }
}

fn member((leaver, result): LeaverResult) -> Member {
    Member {
        member_id: leaver.member_id.map(|id| id.to_string()).unwrap_or_default(),
        group_instance_id: leaver.instance_id.map(|id| id.to_string()),
        error_code: result.err().as_ref().map(Coded::error_code).unwrap_or_default(),
    }
}
