//! `DeleteGroups` (key 42): deletes empty groups and their offsets.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The groups to delete.
    DeleteGroupsRequest {
        groups_names: Vec<String>,
    }
}

structure! {
    /// The results.
    DeleteGroupsResponse {
        throttle_time_ms: i32,
        results: Vec<Group>,
    }
}

structure! {
    /// The result for one group.
    Group {
        group_id: String,
        error_code: ErrorCode,
        /// The error message.
        error_message: Option<String> [3..],
    }
}

api!(DeleteGroups, 0..=3, DeleteGroupsRequest => DeleteGroupsResponse);
