//! `AlterConfigs` (key 33): all settings of topics and brokers are replaced.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says what the settings shall be; those not named go back to their defaults.
    AlterConfigsRequest {
        resources: Vec<RequestResource>,
        /// Whether only to check.
        validate_only: bool,
    }
}

structure! {
    /// Settings of one topic or broker.
    RequestResource {
        /// What the resource is, by the constants of `describe_configs`.
        resource_type: i8,
        resource_name: String,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// One setting.
    RequestConfig {
        name: String,
        value: Option<String>,
    }
}

structure! {
    /// What was changed.
    AlterConfigsResponse {
        throttle_time_ms: i32,
        responses: Vec<Resource>,
    }
}

structure! {
    /// What became of the settings of one topic or broker.
    Resource {
        error_code: ErrorCode,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
    }
}

api!(AlterConfigs, 0..=2, AlterConfigsRequest => AlterConfigsResponse);
