//! `ListGroups` (key 16): the groups a broker coordinates.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks for groups.
    ListGroupsRequest {
        /// Only groups in one of these states; empty means all.
        states_filter: Vec<String> [4..],
        /// Only groups of one of these types; empty means all.
        types_filter: Vec<String> [5..],
    }
}

structure! {
    /// The groups.
    ListGroupsResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode,
        groups: Vec<Group>,
    }
}

structure! {
    /// One group.
    Group {
        group_id: String,
        protocol_type: String,
        /// Kafka's name of the state, as `Stable`.
        group_state: String [4..],
        /// `classic` or `consumer`.
        group_type: String [5..],
    }
}

api!(ListGroups, 0..=5, ListGroupsRequest => ListGroupsResponse);
