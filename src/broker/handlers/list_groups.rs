//! `ListGroups`: the groups that this broker coordinates.

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::Groups;
use crate::broker::errors::Coded;
use crate::group::GroupFilter;
use crate::wire::list_groups::{Group, ListGroupsRequest, ListGroupsResponse};

pub(crate) type Request = ListGroupsRequest;

/// The type of all groups.
const GROUP_TYPE: &str = "classic";

/// Lists the groups that pass the filters and that this client may see.
pub(crate) async fn handle(
    call: &Call<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> ListGroupsResponse {
    let filter = GroupFilter { states: request.states_filter, types: request.types_filter };
    match groups.list(&filter).await {
        Ok(listed) => {
            let visible = |id: &str| call.session.may(Operation::Describe, Resource::Group(id));
            let groups = listed.into_iter().filter(|group| visible(group.group_id.as_str()));
            let groups = groups.map(|group| Group {
                group_id: group.group_id.to_string(),
                protocol_type: group.protocol_type.to_string(),
                group_state: group.state.name().to_owned(),
                group_type: GROUP_TYPE.to_owned(),
            });
            ListGroupsResponse { groups: groups.collect(), ..ListGroupsResponse::default() }
        }
        Err(error) => {
            ListGroupsResponse { error_code: error.error_code(), ..ListGroupsResponse::default() }
        }
    }
}
