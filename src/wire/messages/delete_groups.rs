//! `DeleteGroups` (key 42): empty groups and their offsets are removed.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Names the groups to remove.
    DeleteGroupsRequest {
        groups_names: Vec<String>,
    }
}

structure! {
    /// What was removed.
    DeleteGroupsResponse {
        throttle_time_ms: i32,
        results: Vec<Group>,
    }
}

structure! {
    /// Whether one group was removed.
    Group {
        group_id: String,
        error_code: ErrorCode,
        /// The error in words.
        error_message: Option<String> [3..],
    }
}

api!(DeleteGroups, 0..=3, DeleteGroupsRequest => DeleteGroupsResponse);
