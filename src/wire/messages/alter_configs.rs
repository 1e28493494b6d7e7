//! `AlterConfigs` (key 33): replaces all settings of topics and brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The new settings; settings that are not listed are reset to their defaults.
    AlterConfigsRequest {
        resources: Vec<RequestResource>,
        /// True to validate without changing anything.
        validate_only: bool,
    }
}

structure! {
    /// The new settings of a topic or broker.
    RequestResource {
        /// The type of the resource, one of the constants of `describe_configs`.
        resource_type: i8,
        resource_name: String,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// A setting.
    RequestConfig {
        name: String,
        value: Option<String>,
    }
}

structure! {
    /// The results.
    AlterConfigsResponse {
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

api!(AlterConfigs, 0..=2, AlterConfigsRequest => AlterConfigsResponse);
