//! `DescribeAcls` (key 29): the ACLs that match a filter.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The pattern matches exactly the resource of this name.
pub const PATTERN_LITERAL: i8 = 3;

structure! {
    /// A filter of ACLs; a name, principal or host of `None` matches all.
    DescribeAclsRequest {
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
    /// The ACLs.
    DescribeAclsResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        resources: Vec<Resource>,
    }
}

structure! {
    /// The ACLs of a resource pattern.
    Resource {
        resource_type: i8,
        resource_name: String,
        pattern_type: i8 = PATTERN_LITERAL,
        acls: Vec<Acl>,
    }
}

structure! {
    /// An ACL.
    Acl {
        principal: String,
        host: String,
        operation: i8,
        permission_type: i8,
    }
}

api!(DescribeAcls, 1..=3, DescribeAclsRequest => DescribeAclsResponse);
