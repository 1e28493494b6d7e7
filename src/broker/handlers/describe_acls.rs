//! `DescribeAcls`: refused with the error that says ACLs are not supported.

use std::future::{Ready, ready};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::wire::ErrorCode;
use crate::wire::describe_acls::{DescribeAclsRequest, DescribeAclsResponse};

pub(crate) type Request = DescribeAclsRequest;

/// Reports that ACLs are disabled.
pub(crate) fn handle(call: &Call<'_>, _request: Request) -> Ready<DescribeAclsResponse> {
    let refusal = no_rules(call, Operation::Describe);
    ready(DescribeAclsResponse {
        error_code: refusal.code,
        error_message: refusal.message,
        ..DescribeAclsResponse::default()
    })
}

/// The refusal of every request about ACLs. Tools handle this code by leaving ACLs out of their
/// output; they fail on any other code.
pub(crate) fn no_rules(call: &Call<'_>, operation: Operation) -> Refusal {
    if call.session.may(operation, Resource::Cluster) {
        Refusal::because(ErrorCode::SecurityDisabled, &"this broker has no authorizer")
    } else {
        Refusal::of(ErrorCode::ClusterAuthorizationFailed)
    }
}
