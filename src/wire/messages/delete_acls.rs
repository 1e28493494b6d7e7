//! `DeleteAcls` (key 31): rules about who may do what are removed.

use super::describe_acls::PATTERN_LITERAL;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Removes rules.
    DeleteAclsRequest {
        filters: Vec<Filter>,
    }
}

structure! {
    /// The rules that match go; a name, principal or host of `None` matches all.
    Filter {
        resource_type_filter: i8,
        resource_name_filter: Option<String>,
        pattern_type_filter: i8 = PATTERN_LITERAL,
        principal_filter: Option<String>,
        host_filter: Option<String>,
        operation: i8,
        permission_type: i8,
    }
}

structure! {
    /// What was removed, in the order of the request.
    DeleteAclsResponse {
        throttle_time_ms: i32,
        filter_results: Vec<FilterResult>,
    }
}

structure! {
    /// What one filter removed.
    FilterResult {
        error_code: ErrorCode,
        error_message: Option<String>,
        matching_acls: Vec<MatchingAcl>,
    }
}

structure! {
    /// One rule that matched.
    MatchingAcl {
        error_code: ErrorCode,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
        pattern_type: i8 = PATTERN_LITERAL,
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }
}

api!(DeleteAcls, 1..=3, DeleteAclsRequest => DeleteAclsResponse);
