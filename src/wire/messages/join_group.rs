//! `JoinGroup` (key 11): joins a classic group.

use bytes::Bytes;

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request to join a group.
    JoinGroupRequest {
        group_id: String,
        /// The time without heartbeats after which the member expires.
        session_timeout_ms: i32,
        /// The time that a rebalance waits for members to join; in version 0, the session timeout.
        rebalance_timeout_ms: i32 [1..] = -1,
        /// The member id; empty at the first attempt.
        member_id: String,
        /// The group instance id of a static member.
        group_instance_id: Option<String> [5..],
        /// The type of the group; `consumer` for consumers.
        protocol_type: String,
        /// The assignors that the member supports, preferred first.
        protocols: Vec<Protocol>,
        /// The reason for joining, for people.
        reason: Option<String> [8..],
    }
}

structure! {
    /// An assignor, and the member's metadata for it.
    Protocol {
        name: String,
        /// The member's metadata: for consumers a [`crate::wire::Subscription`].
        metadata: Bytes,
    }
}

structure! {
    /// The member's role in the new generation.
    JoinGroupResponse {
        throttle_time_ms: i32 [2..],
        error_code: ErrorCode,
        generation_id: i32 = -1,
        protocol_type: Option<String> [7..],
        /// The chosen assignor; empty or `None` with an error.
        protocol_name: Option<String> [0.., nullable 7..] = Some(String::new()),
        /// The member that computes the assignment.
        leader: String,
        /// True if the leader must not compute an assignment, since nothing has changed.
        skip_assignment: bool [9..],
        member_id: String,
        /// All members, for the leader; empty for the others.
        members: Vec<Member>,
    }
}

structure! {
    /// A member and its metadata for the assignor.
    Member {
        member_id: String,
        group_instance_id: Option<String> [5..],
        /// The member's metadata: for consumers a [`crate::wire::Subscription`].
        metadata: Bytes,
    }
}

api!(JoinGroup, 0..=9, JoinGroupRequest => JoinGroupResponse);
