//! `JoinGroup` (key 11): a consumer becomes a member of a classic group.

use bytes::Bytes;

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks to be a member.
    JoinGroupRequest {
        group_id: String,
        /// The member is dead when it has not been heard of for so long.
        session_timeout_ms: i32,
        /// How long a rebalance waits for members to join; in version 0 the session timeout.
        rebalance_timeout_ms: i32 [1..] = -1,
        /// Empty at the first attempt.
        member_id: String,
        /// The name of a static member.
        group_instance_id: Option<String> [5..],
        /// What the group is for; `consumer` for consumers.
        protocol_type: String,
        /// The assignors the member knows, the best first.
        protocols: Vec<Protocol>,
        /// Why the member joins, in words.
        reason: Option<String> [8..],
    }
}

structure! {
    /// One assignor, and what the member tells it.
    Protocol {
        name: String,
        /// For consumers a [`crate::wire::Subscription`].
        metadata: Bytes,
    }
}

structure! {
    /// The group the member is now part of.
    JoinGroupResponse {
        throttle_time_ms: i32 [2..],
        error_code: ErrorCode,
        generation_id: i32 = -1,
        protocol_type: Option<String> [7..],
        /// The assignor all members know; empty or `None` beside an error.
        protocol_name: Option<String> [0.., nullable 7..] = Some(String::new()),
        /// The member that computes the assignment.
        leader: String,
        /// Whether the leader need not compute one, since nothing changed.
        skip_assignment: bool [9..],
        member_id: String,
        /// All members, for the leader; empty for the others.
        members: Vec<Member>,
    }
}

structure! {
    /// One member, and what it told the assignor.
    Member {
        member_id: String,
        group_instance_id: Option<String> [5..],
        /// For consumers a [`crate::wire::Subscription`].
        metadata: Bytes,
    }
}

api!(JoinGroup, 0..=9, JoinGroupRequest => JoinGroupResponse);
