//! `JoinGroup`: joins a group. Answered when the generation is complete.

use std::time::Duration;

use uuid::Uuid;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, member_id};
use crate::broker::errors::Coded;
use crate::group::{
    GroupError, GroupId, InstanceId, JoinRefusal, JoinRequest, Joined, JoinedMember, Protocol,
};
use crate::wire::ErrorCode;
use crate::wire::join_group::{JoinGroupRequest, JoinGroupResponse, Member};

pub(crate) type Request = JoinGroupRequest;

/// The first version in which a newcomer must join again with an assigned member id (KIP-394).
const ID_REQUIRED_SINCE: i16 = 4;
/// The first version that has null for a missing protocol.
const NO_PROTOCOL_SINCE: i16 = 7;
/// The first version in which a leader may be told to skip the assignment (KIP-814).
const SKIP_SINCE: i16 = 9;

/// Joins the group, and waits for the other members.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> JoinGroupResponse {
    if !call.session.may(Operation::Read, Resource::Group(&request.group_id)) {
        let code = ErrorCode::GroupAuthorizationFailed;
        return refused(call, code, &request.member_id);
    }
    let group = GroupId::from(request.group_id.as_str());
    match groups.ask(&group, question(call, group.clone(), &request)).await {
        Ok(joined) => answer(joined),
        Err(error) => {
            let id = match &error {
                GroupError::Join(JoinRefusal::MemberIdRequired(id)) => id.as_str(),
                _ => &request.member_id,
            };
            refused(call, error.error_code(), id)
        }
    }
}

fn question(call: &Call<'_>, group_id: GroupId, request: &Request) -> JoinRequest {
    let rebalance_ms = match request.rebalance_timeout_ms {
        // Version 0 has no rebalance timeout.
        timeout if timeout < 0 => request.session_timeout_ms,
        timeout => timeout,
    };
    let protocols = request.protocols.iter().map(|protocol| Protocol {
        name: protocol.name.as_str().into(),
        metadata: protocol.metadata.clone(),
    });
    JoinRequest {
        group_id,
        member_id: member_id(&request.member_id),
        instance_id: request.group_instance_id.as_deref().map(InstanceId::from),
        new_member: Uuid::new_v4(),
        client_id: call.client_id.into(),
        client_host: format!("/{}", call.session.identity().peer.ip().to_canonical()).into(),
        session_timeout: millis(request.session_timeout_ms),
        rebalance_timeout: millis(rebalance_ms),
        protocol_type: request.protocol_type.as_str().into(),
        protocols: protocols.collect(),
        member_id_required: call.version >= ID_REQUIRED_SINCE,
        can_skip_assignment: call.version >= SKIP_SINCE,
    }
}

fn millis(number: i32) -> Duration {
    Duration::from_millis(u64::try_from(number).unwrap_or(0))
}

fn answer(joined: Joined) -> JoinGroupResponse {
    JoinGroupResponse {
        generation_id: joined.generation.0,
        protocol_type: Some(joined.protocol_type.to_string()),
        protocol_name: Some(joined.protocol.to_string()),
        leader: joined.leader.to_string(),
        skip_assignment: joined.skip_assignment,
        member_id: joined.member_id.to_string(),
        members: joined.members.into_iter().map(member).collect(),
        ..JoinGroupResponse::default()
    }
}

fn member(member: JoinedMember) -> Member {
    Member {
        member_id: member.member_id.to_string(),
        group_instance_id: member.instance_id.map(|id| id.to_string()),
        metadata: member.metadata,
    }
}

fn refused(call: &Call<'_>, error_code: ErrorCode, member_id: &str) -> JoinGroupResponse {
    let protocol_name = (call.version < NO_PROTOCOL_SINCE).then(String::new);
    JoinGroupResponse {
        error_code,
        protocol_name,
        member_id: member_id.to_owned(),
        ..JoinGroupResponse::default()
    }
}
