//! `CreateAcls` (key 30): adds ACLs.

use super::describe_acls::PATTERN_LITERAL;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The ACLs to add.
    CreateAclsRequest {
        creations: Vec<Creation>,
    }
}

structure! {
    /// An ACL to add.
    Creation {
        resource_type: i8,
        resource_name: String,
        resource_pattern_type: i8 = PATTERN_LITERAL,
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }
}

structure! {
    /// The results, in the order of the request.
    CreateAclsResponse {
        throttle_time_ms: i32,
        results: Vec<CreationResult>,
    }
}

structure! {
    /// The result for one ACL.
    CreationResult {
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(CreateAcls, 1..=3, CreateAclsRequest => CreateAclsResponse);
