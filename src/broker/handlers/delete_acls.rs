//! `DeleteAcls`: refused, since ACLs are not supported.

use std::future::{Ready, ready};

use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::handlers::describe_acls::no_rules;
use crate::wire::delete_acls::{DeleteAclsRequest, DeleteAclsResponse, FilterResult};

pub(crate) type Request = DeleteAclsRequest;

/// Refuses every filter.
#[expect(clippy::needless_pass_by_value, reason = "every handler is handed its request")]
pub(crate) fn handle(call: &Call<'_>, request: Request) -> Ready<DeleteAclsResponse> {
    let refusal = no_rules(call, Operation::Alter);
    let refused = FilterResult {
        error_code: refusal.code,
        error_message: refusal.message,
        ..FilterResult::default()
    };
    let filter_results = vec![refused; request.filters.len()];
    ready(DeleteAclsResponse { filter_results, ..DeleteAclsResponse::default() })
}
