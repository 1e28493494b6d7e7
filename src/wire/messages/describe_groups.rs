//! `DescribeGroups` (key 15): the state and members of classic groups.

use bytes::Bytes;

use super::metadata::OPERATIONS_UNKNOWN;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for groups.
    DescribeGroupsRequest {
        groups: Vec<String>,
        /// True to include the operations that the client may perform on each group.
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
    /// A group.
    Group {
        error_code: ErrorCode,
        error_message: Option<String> [6..],
        group_id: String,
        /// Kafka's name of the state, such as `Stable`; `Dead` for a group that does not exist.
        group_state: String,
        protocol_type: String,
        /// The chosen assignor, if there is one.
        protocol_data: String,
        members: Vec<Member>,
        /// The operations that the client may perform on the group, as a bit mask of Kafka's codes.
        authorized_operations: i32 [3..] = OPERATIONS_UNKNOWN,
    }
}

structure! {
    /// A member.
    Member {
        member_id: String,
        group_instance_id: Option<String> [4..],
        client_id: String,
        /// The client's address, preceded by a slash.
        client_host: String,
        /// The member's metadata: for consumers a [`crate::wire::Subscription`].
        member_metadata: Bytes,
        /// The member's assignment: for consumers a [`crate::wire::Assignment`].
        member_assignment: Bytes,
    }
}

api!(DescribeGroups, 0..=6, DescribeGroupsRequest => DescribeGroupsResponse);
