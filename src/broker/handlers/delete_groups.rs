//! `DeleteGroups`: deletes groups without members, with their offsets.

use std::collections::HashSet;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{DeleteGroup, Groups};
use crate::broker::errors::Coded;
use crate::group::GroupId;
use crate::wire::ErrorCode;
use crate::wire::delete_groups::{DeleteGroupsRequest, DeleteGroupsResponse, Group};

pub(crate) type Request = DeleteGroupsRequest;

/// Deletes each group.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    mut request: Request,
) -> DeleteGroupsResponse {
    let mut seen = HashSet::new();
    request.groups_names.retain(|name| seen.insert(name.clone()));
    let may = |id: &String| call.session.may(Operation::Delete, Resource::Group(id));
    let (allowed, refused): (Vec<_>, Vec<_>) = request.groups_names.into_iter().partition(may);
    let ids = allowed.iter().map(|id| GroupId::from(id.as_str()));
    let questions = ids.map(|id| (id.clone(), DeleteGroup(id))).collect();
    let results = groups.ask_each(questions).await;
    let mut groups: Vec<Group> = Vec::with_capacity(allowed.len() + refused.len());
    for (group_id, result) in allowed.into_iter().zip(results) {
        let error = result.err();
        let error_code = error.as_ref().map(Coded::error_code).unwrap_or_default();
        let error_message = error.map(|error| error.to_string());
        groups.push(Group { group_id, error_code, error_message });
    }
    let error_code = ErrorCode::GroupAuthorizationFailed;
    let refused = refused.into_iter();
    groups.extend(refused.map(|group_id| Group { group_id, error_code, error_message: None }));
    DeleteGroupsResponse { results: groups, ..DeleteGroupsResponse::default() }
}
