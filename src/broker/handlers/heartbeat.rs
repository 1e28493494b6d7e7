//! `Heartbeat`: extends a member's session, and tells it whether it must rejoin.

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, claim};
use crate::broker::errors::Coded;
use crate::group::{GroupId, HeartbeatRequest as Question};
use crate::wire::ErrorCode;
use crate::wire::heartbeat::{HeartbeatRequest, HeartbeatResponse};

pub(crate) type Request = HeartbeatRequest;

/// Extends the member's session.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> HeartbeatResponse {
    let error_code = beat(call, groups, request).await.err().unwrap_or_default();
    HeartbeatResponse { error_code, ..HeartbeatResponse::default() }
}

async fn beat(call: &Call<'_>, groups: &Groups<'_>, request: Request) -> Result<(), ErrorCode> {
    if !call.session.may(Operation::Read, Resource::Group(&request.group_id)) {
        return Err(ErrorCode::GroupAuthorizationFailed);
    }
    let group_id = GroupId::from(request.group_id.as_str());
    let instance = request.group_instance_id.as_deref();
    let claim = claim(&request.member_id, instance, request.generation_id);
    let question = Question { group_id: group_id.clone(), claim };
    groups.ask(&group_id, question).await.map_err(|error| error.error_code())
}
