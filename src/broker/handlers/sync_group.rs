//! `SyncGroup`: the leader submits the assignments, and each member gets its own.

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, claim};
use crate::broker::errors::Coded;
use crate::group::{GroupId, MemberId, SyncRequest};
use crate::wire::ErrorCode;
use crate::wire::sync_group::{SyncGroupRequest, SyncGroupResponse};

pub(crate) type Request = SyncGroupRequest;

/// The first version in which members state the expected protocol.
const PROTOCOL_SINCE: i16 = 5;

/// Waits for the member's assignment.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> SyncGroupResponse {
    if !call.session.may(Operation::Read, Resource::Group(&request.group_id)) {
        return refused(ErrorCode::GroupAuthorizationFailed);
    }
    if call.version >= PROTOCOL_SINCE && !names_protocol(&request) {
        return refused(ErrorCode::InconsistentGroupProtocol);
    }
    let group = GroupId::from(request.group_id.as_str());
    match groups.ask(&group, question(group.clone(), request)).await {
        Ok(synced) => SyncGroupResponse {
            protocol_type: Some(synced.protocol_type.to_string()),
            protocol_name: Some(synced.protocol.to_string()),
            assignment: synced.assignment,
            ..SyncGroupResponse::default()
        },
        Err(error) => refused(error.error_code()),
    }
}

fn names_protocol(request: &Request) -> bool {
    request.protocol_type.is_some() && request.protocol_name.is_some()
}

fn question(group_id: GroupId, request: Request) -> SyncRequest {
    let instance = request.group_instance_id.as_deref();
    let assignments = request.assignments.into_iter();
    SyncRequest {
        group_id,
        claim: claim(&request.member_id, instance, request.generation_id),
        protocol_type: request.protocol_type.map(Into::into),
        protocol: request.protocol_name.map(Into::into),
        assignments: assignments
            .map(|member| (MemberId::from(member.member_id.as_str()), member.assignment))
            .collect(),
    }
}

fn refused(error_code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code, ..SyncGroupResponse::default() }
}
