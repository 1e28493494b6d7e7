//! `Heartbeat` (key 12): keeps a member of a classic group alive.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A heartbeat of a member.
    HeartbeatRequest {
        group_id: String,
        generation_id: i32,
        member_id: String,
        /// The group instance id of a static member.
        group_instance_id: Option<String> [3..],
    }
}

structure! {
    /// The state of the membership; `REBALANCE_IN_PROGRESS` asks the member to rejoin.
    HeartbeatResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
    }
}

api!(Heartbeat, 0..=4, HeartbeatRequest => HeartbeatResponse);
