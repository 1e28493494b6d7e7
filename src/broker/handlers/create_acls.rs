//! `CreateAcls`: refused, since ACLs are not supported.

use std::future::{Ready, ready};

use crate::broker::authorize::Operation;
use crate::broker::call::Call;
use crate::broker::handlers::describe_acls::no_rules;
use crate::wire::create_acls::{CreateAclsRequest, CreateAclsResponse, CreationResult};

pub(crate) type Request = CreateAclsRequest;

/// Refuses every ACL.
#[expect(clippy::needless_pass_by_value, reason = "every handler is handed its request")]
pub(crate) fn handle(call: &Call<'_>, request: Request) -> Ready<CreateAclsResponse> {
    let refusal = no_rules(call, Operation::Alter);
    let refused = CreationResult { error_code: refusal.code, error_message: refusal.message };
    let results = vec![refused; request.creations.len()];
    ready(CreateAclsResponse { results, ..CreateAclsResponse::default() })
}
