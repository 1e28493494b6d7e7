//! `ListConfigResources` (key 74): what has settings. Version 0 is about subscriptions to clients'
//! metrics alone.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// A topic.
pub const TOPIC: i8 = 2;
/// A broker.
pub const BROKER: i8 = 4;
/// The log levels of a broker.
pub const BROKER_LOGGER: i8 = 8;
/// A subscription to clients' metrics.
pub const CLIENT_METRICS: i8 = 16;
/// A group.
pub const GROUP: i8 = 32;

structure! {
    /// Asks what there is.
    ListConfigResourcesRequest {
        /// By this module's constants; none means all.
        resource_types: Vec<i8> [1..],
    }
}

structure! {
    /// What there is.
    ListConfigResourcesResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        config_resources: Vec<ConfigResource>,
    }
}

structure! {
    /// Something that has settings.
    ConfigResource {
        resource_name: String,
        resource_type: i8 [1..] = CLIENT_METRICS,
    }
}

api!(ListConfigResources, 0..=1, ListConfigResourcesRequest => ListConfigResourcesResponse);
