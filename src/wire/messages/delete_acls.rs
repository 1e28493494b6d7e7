//! `DeleteAcls` (key 31): deletes ACLs.

use super::describe_acls::PATTERN_LITERAL;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The filters of ACLs to delete.
    DeleteAclsRequest {
        filters: Vec<Filter>,
    }
}

structure! {
    /// A filter of ACLs; a name, principal or host of `None` matches all.
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
    /// The results, in the order of the request.
    DeleteAclsResponse {
        throttle_time_ms: i32,
        filter_results: Vec<FilterResult>,
    }
}

structure! {
    /// The result for one filter.
    FilterResult {
        error_code: ErrorCode,
        error_message: Option<String>,
        matching_acls: Vec<MatchingAcl>,
    }
}

structure! {
    /// An ACL that matched.
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
