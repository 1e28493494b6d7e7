//! Heartbeat (key 12): a member of a classic group says that it is alive.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says that a member is alive.
    HeartbeatRequest {
        group_id: String,
        generation_id: i32,
        member_id: String,
        /// The name of a static member.
        group_instance_id: Option<String> [3..],
    }
}

structure! {
    /// Whether the member still is one; `REBALANCE_IN_PROGRESS` asks it to join again.
    HeartbeatResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
    }
}

api!(Heartbeat, 0..=4, HeartbeatRequest => HeartbeatResponse);
