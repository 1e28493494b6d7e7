//! `SyncGroup` (key 14): the group leader submits the assignments, and all members fetch theirs.

use bytes::Bytes;

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the member's assignment.
    SyncGroupRequest {
        group_id: String,
        generation_id: i32,
        member_id: String,
        /// The group instance id of a static member.
        group_instance_id: Option<String> [3..],
        /// The expected type of the group, which must match if given.
        protocol_type: Option<String> [5..],
        /// The expected assignor, which must match if given.
        protocol_name: Option<String> [5..],
        /// The assignments of all members, from the leader; empty from the others.
        assignments: Vec<MemberAssignment>,
    }
}

structure! {
    /// The assignment of a member.
    MemberAssignment {
        member_id: String,
        /// The member's assignment: for consumers a [`crate::wire::Assignment`].
        assignment: Bytes,
    }
}

structure! {
    /// The assignment of the requesting member.
    SyncGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        /// The member's assignment: for consumers a [`crate::wire::Assignment`].
        assignment: Bytes,
    }
}

api!(SyncGroup, 0..=5, SyncGroupRequest => SyncGroupResponse);
