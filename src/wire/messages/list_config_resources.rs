//! `ListConfigResources` (key 74): the resources that have settings. Version 0 lists client metrics
//! subscriptions only.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// A topic.
pub const TOPIC: i8 = 2;
/// A broker.
pub const BROKER: i8 = 4;
/// The log levels of a broker.
pub const BROKER_LOGGER: i8 = 8;
/// A client metrics subscription.
pub const CLIENT_METRICS: i8 = 16;
/// A group.
pub const GROUP: i8 = 32;

structure! {
    /// A request for resources.
    ListConfigResourcesRequest {
        /// The requested types, out of this module's constants; all if empty.
        resource_types: Vec<i8> [1..],
    }
}

structure! {
    /// The resources.
    ListConfigResourcesResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        config_resources: Vec<ConfigResource>,
    }
}

structure! {
    /// A resource that has settings.
    ConfigResource {
        resource_name: String,
        resource_type: i8 [1..] = CLIENT_METRICS,
    }
}

api!(ListConfigResources, 0..=1, ListConfigResourcesRequest => ListConfigResourcesResponse);
