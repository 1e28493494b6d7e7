//! `SyncGroup` (key 14): the leader of a classic group hands in the assignment, all fetch theirs.

use bytes::Bytes;

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks for the member's assignment.
    SyncGroupRequest {
        group_id: String,
        generation_id: i32,
        member_id: String,
        /// The name of a static member.
        group_instance_id: Option<String> [3..],
        /// What the member takes the group to be for; must agree if given.
        protocol_type: Option<String> [5..],
        /// What the member takes for the assignor; must agree if given.
        protocol_name: Option<String> [5..],
        /// Everyone's assignment, from the leader; empty from the others.
        assignments: Vec<MemberAssignment>,
    }
}

structure! {
    /// What one member is to read.
    MemberAssignment {
        member_id: String,
        /// For consumers a [`crate::wire::Assignment`].
        assignment: Bytes,
    }
}

structure! {
    /// The member's assignment.
    SyncGroupResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
        protocol_type: Option<String> [5..],
        protocol_name: Option<String> [5..],
        /// For consumers a [`crate::wire::Assignment`].
        assignment: Bytes,
    }
}

api!(SyncGroup, 0..=5, SyncGroupRequest => SyncGroupResponse);
