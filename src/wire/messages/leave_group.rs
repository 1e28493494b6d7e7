//! `LeaveGroup` (key 13): removes members from a classic group.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The members that leave: one up to version 2, any number from version 3.
    LeaveGroupRequest {
        group_id: String,
        member_id: String [..=2],
        members: Vec<RequestMember> [3..],
    }
}

structure! {
    /// A member that leaves.
    RequestMember {
        member_id: String,
        /// The group instance id of a static member, which may replace an empty member id.
        group_instance_id: Option<String>,
        /// The reason for leaving, for people.
        reason: Option<String> [5..],
    }
}

structure! {
    /// The results.
    LeaveGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
        members: Vec<Member> [3..],
    }
}

structure! {
    /// The result for one member.
    Member {
        member_id: String,
        group_instance_id: Option<String>,
        error_code: ErrorCode,
    }
}

api!(LeaveGroup, 0..=5, LeaveGroupRequest => LeaveGroupResponse);
