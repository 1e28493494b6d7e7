//! `IncrementalAlterConfigs` (key 44): changes single settings of topics and brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// Sets the value.
pub const SET: i8 = 0;
/// Resets the setting to its default.
pub const DELETE: i8 = 1;
/// Appends the value to a list.
pub const APPEND: i8 = 2;
/// Removes the value from a list.
pub const SUBTRACT: i8 = 3;

structure! {
    /// The changes to make.
    IncrementalAlterConfigsRequest {
        resources: Vec<RequestResource>,
        /// True to validate without changing anything.
        validate_only: bool,
    }
}

structure! {
    /// The changes for a topic or broker.
    RequestResource {
        /// The type of the resource, one of the constants of `describe_configs`.
        resource_type: i8,
        resource_name: String,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// A change.
    RequestConfig {
        name: String,
        /// The operation, one of this module's constants.
        config_operation: i8,
        value: Option<String>,
    }
}

structure! {
    /// The results.
    IncrementalAlterConfigsResponse {
        throttle_time_ms: i32,
        responses: Vec<Resource>,
    }
}

structure! {
    /// The result for one topic or broker.
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
