//! `LeaveGroup` (key 13): members leave a classic group.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says who leaves: one member up to version 2, any number from version 3.
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
        /// The name of a static member, which may stand for an empty member id.
        group_instance_id: Option<String>,
        /// Why it leaves, in words.
        reason: Option<String> [5..],
    }
}

structure! {
    /// Who has left.
    LeaveGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
        members: Vec<Member> [3..],
    }
}

structure! {
    /// Whether one member has left.
    Member {
        member_id: String,
        group_instance_id: Option<String>,
        error_code: ErrorCode,
    }
}

api!(LeaveGroup, 0..=5, LeaveGroupRequest => LeaveGroupResponse);
