//! `FindCoordinator` (key 10): the coordinators of groups and transactional ids.
//!
//! Up to version 3 a request has one key, from version 4 on any number.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The keys are group ids.
pub const KEY_TYPE_GROUP: i8 = 0;
/// The keys are transactional ids.
pub const KEY_TYPE_TRANSACTION: i8 = 1;

structure! {
    /// A request for coordinators.
    FindCoordinatorRequest {
        key: String [..=3],
        /// The type of the keys, one of this module's constants.
        key_type: i8 [1..],
        coordinator_keys: Vec<String> [4..],
    }
}

structure! {
    /// The coordinators.
    FindCoordinatorResponse {
        throttle_time_ms: i32 [1..],
        error_code: ErrorCode [..=3],
        error_message: Option<String> [1..=3],
        node_id: i32 [..=3],
        host: String [..=3],
        port: i32 [..=3],
        coordinators: Vec<Coordinator> [4..],
    }
}

structure! {
    /// The coordinator of a key; −1 and an empty host with an error.
    Coordinator {
        key: String,
        node_id: i32,
        host: String,
        port: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(FindCoordinator, 0..=6, FindCoordinatorRequest => FindCoordinatorResponse);
