//! `CreateAcls` (key 30): rules are added about who may do what.

use super::describe_acls::PATTERN_LITERAL;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Adds rules.
    CreateAclsRequest {
        creations: Vec<Creation>,
    }
}

structure! {
    /// One rule to add.
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
    /// What was added, in the order of the request.
    CreateAclsResponse {
        throttle_time_ms: i32,
        results: Vec<CreationResult>,
    }
}

structure! {
    /// Whether one rule was added.
    CreationResult {
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(CreateAcls, 1..=3, CreateAclsRequest => CreateAclsResponse);
