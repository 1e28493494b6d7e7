//! `DescribeGroups` (key 15): state and members of classic groups.

use bytes::Bytes;

use super::metadata::OPERATIONS_UNKNOWN;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks about groups.
    DescribeGroupsRequest {
        groups: Vec<String>,
        /// Whether to fill in what the client may do to each group.
        include_authorized_operations: bool [3..],
    }
}

structure! {
    /// The groups.
    DescribeGroupsResponse {
        throttle_time_ms: i32 [1..],
        groups: Vec<Group>,
    }
}

structure! {
    /// One group.
    Group {
        error_code: ErrorCode,
        error_message: Option<String> [6..],
        group_id: String,
        /// Kafka's name of the state, as `Stable`; `Dead` for a group that does not exist.
        group_state: String,
        protocol_type: String,
        /// The assignor in use, once there is one.
        protocol_data: String,
        members: Vec<Member>,
        /// What the client may do to the group, as bits by Kafka's numbers of operations.
        authorized_operations: i32 [3..] = OPERATIONS_UNKNOWN,
    }
}

structure! {
    /// One member.
    Member {
        member_id: String,
        group_instance_id: Option<String> [4..],
        client_id: String,
        /// The address the member connects from, after a slash.
        client_host: String,
        /// For consumers a [`crate::wire::Subscription`].
        member_metadata: Bytes,
        /// For consumers a [`crate::wire::Assignment`].
        member_assignment: Bytes,
    }
}

api!(DescribeGroups, 0..=6, DescribeGroupsRequest => DescribeGroupsResponse);
