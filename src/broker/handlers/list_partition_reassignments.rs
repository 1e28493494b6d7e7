//! `ListPartitionReassignments`: always empty, since partitions are never moved.

use std::future::{Ready, ready};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::wire::ErrorCode;
use crate::wire::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
};

pub(crate) type Request = ListPartitionReassignmentsRequest;

/// Returns an empty list.
pub(crate) fn handle(
    call: &Call<'_>,
    _request: Request,
) -> Ready<ListPartitionReassignmentsResponse> {
    let may = call.session.may(Operation::Describe, Resource::Cluster);
    let error_code = if may { ErrorCode::None } else { ErrorCode::ClusterAuthorizationFailed };
    ready(ListPartitionReassignmentsResponse {
        error_code,
        ..ListPartitionReassignmentsResponse::default()
    })
}
