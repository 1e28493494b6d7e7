//! `IncrementalAlterConfigs` (key 44): single settings of topics and brokers are changed.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The value is set.
pub const SET: i8 = 0;
/// The setting goes back to its default.
pub const DELETE: i8 = 1;
/// The value is added to a list.
pub const APPEND: i8 = 2;
/// The value is taken out of a list.
pub const SUBTRACT: i8 = 3;

structure! {
    /// Says what to change.
    IncrementalAlterConfigsRequest {
        resources: Vec<RequestResource>,
        /// Whether only to check.
        validate_only: bool,
    }
}

structure! {
    /// Changes for one topic or broker.
    RequestResource {
        /// What the resource is, by the constants of `describe_configs`.
        resource_type: i8,
        resource_name: String,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// One change.
    RequestConfig {
        name: String,
        /// What to do, by this module's constants.
        config_operation: i8,
        value: Option<String>,
    }
}

structure! {
    /// What was changed.
    IncrementalAlterConfigsResponse {
        throttle_time_ms: i32,
        responses: Vec<Resource>,
    }
}

structure! {
    /// What became of the changes for one topic or broker.
    Resource {
        error_code: ErrorCode,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
    }
}

api! {
    IncrementalAlterConfigs, 0..=1,
    IncrementalAlterConfigsRequest => IncrementalAlterConfigsResponse
}
