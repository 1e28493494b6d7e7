//! `ListGroups` (key 16): the groups that a broker coordinates.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for groups.
    ListGroupsRequest {
        /// Restricts the list to groups in these states; all if empty.
        states_filter: Vec<String> [4..],
        /// Restricts the list to groups of these types; all if empty.
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
    /// A group.
    Group {
        group_id: String,
        protocol_type: String,
        /// Kafka's name of the state, such as `Stable`.
        group_state: String [4..],
        /// The type: `classic` or `consumer`.
        group_type: String [5..],
    }
}

api!(ListGroups, 0..=5, ListGroupsRequest => ListGroupsResponse);
