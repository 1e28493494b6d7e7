//! `DescribeConfigs` (key 32): settings of topics and brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The resource is a topic.
pub const RESOURCE_TOPIC: i8 = 2;
/// The resource is a broker; an empty name means all of them.
pub const RESOURCE_BROKER: i8 = 4;
/// The resource is a subscription to clients' metrics.
pub const RESOURCE_CLIENT_METRICS: i8 = 16;
/// The resource is a group.
pub const RESOURCE_GROUP: i8 = 32;

/// The value was set on the topic.
pub const SOURCE_TOPIC: i8 = 1;
/// The value was set on this broker while it ran.
pub const SOURCE_DYNAMIC_BROKER: i8 = 2;
/// The value was set on all brokers while they ran.
pub const SOURCE_DYNAMIC_DEFAULT_BROKER: i8 = 3;
/// The value was given to the broker at its start.
pub const SOURCE_STATIC_BROKER: i8 = 4;
/// Nobody has set a value.
pub const SOURCE_DEFAULT: i8 = 5;

/// `true` or `false`.
pub const TYPE_BOOLEAN: i8 = 1;
/// Any text.
pub const TYPE_STRING: i8 = 2;
/// A number of 32 bits.
pub const TYPE_INT: i8 = 3;
/// A number of 64 bits.
pub const TYPE_LONG: i8 = 5;
/// A number with a fraction.
pub const TYPE_DOUBLE: i8 = 6;
/// Texts with commas between them.
pub const TYPE_LIST: i8 = 7;

structure! {
    /// Asks for settings.
    DescribeConfigsRequest {
        resources: Vec<RequestResource>,
        /// Whether to tell the values that would apply if the first were not set.
        include_synonyms: bool,
        /// Whether to explain each setting.
        include_documentation: bool [3..],
    }
}

structure! {
    /// A topic or a broker.
    RequestResource {
        /// What the resource is, by this module's constants.
        resource_type: i8,
        resource_name: String,
        /// The settings asked for; `None` means all.
        configuration_keys: Option<Vec<String>>,
    }
}

structure! {
    /// The settings.
    DescribeConfigsResponse {
        throttle_time_ms: i32,
        results: Vec<Resource>,
    }
}

structure! {
    /// Settings of one topic or broker.
    Resource {
        error_code: ErrorCode,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
        configs: Vec<Config>,
    }
}

structure! {
    /// One setting.
    Config {
        name: String,
        /// The value; `None` if there is none or it is secret.
        value: Option<String>,
        read_only: bool,
        /// Where the value comes from, by this module's constants.
        config_source: i8 = -1,
        is_sensitive: bool,
        synonyms: Vec<Synonym>,
        /// What kind of value it is, by this module's constants.
        config_type: i8 [3..],
        documentation: Option<String> [3..],
    }
}

structure! {
    /// Another place where the value could be set, in order of precedence.
    Synonym {
        name: String,
        value: Option<String>,
        source: i8,
    }
}

api!(DescribeConfigs, 1..=4, DescribeConfigsRequest => DescribeConfigsResponse);
