//! `DescribeConfigs` (key 32): the settings of topics and brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// A topic resource.
pub const RESOURCE_TOPIC: i8 = 2;
/// A broker resource; an empty name stands for all brokers.
pub const RESOURCE_BROKER: i8 = 4;
/// A client metrics subscription resource.
pub const RESOURCE_CLIENT_METRICS: i8 = 16;
/// A group resource.
pub const RESOURCE_GROUP: i8 = 32;

/// The value is an override of the topic.
pub const SOURCE_TOPIC: i8 = 1;
/// The value is a dynamic setting of this broker.
pub const SOURCE_DYNAMIC_BROKER: i8 = 2;
/// The value is a dynamic setting of all brokers.
pub const SOURCE_DYNAMIC_DEFAULT_BROKER: i8 = 3;
/// The value is from the broker's configuration.
pub const SOURCE_STATIC_BROKER: i8 = 4;
/// The value is the default.
pub const SOURCE_DEFAULT: i8 = 5;

/// A boolean.
pub const TYPE_BOOLEAN: i8 = 1;
/// A string.
pub const TYPE_STRING: i8 = 2;
/// A 32-bit integer.
pub const TYPE_INT: i8 = 3;
/// A 64-bit integer.
pub const TYPE_LONG: i8 = 5;
/// A floating-point number.
pub const TYPE_DOUBLE: i8 = 6;
/// A comma-separated list.
pub const TYPE_LIST: i8 = 7;

structure! {
    /// A request for settings.
    DescribeConfigsRequest {
        resources: Vec<RequestResource>,
        /// True to include the values of all sources, not only the value in force.
        include_synonyms: bool,
        /// True to include the documentation of each setting.
        include_documentation: bool [3..],
    }
}

structure! {
    /// A topic or broker.
    RequestResource {
        /// The type of the resource, one of this module's constants.
        resource_type: i8,
        resource_name: String,
        /// The requested settings; `None` for all.
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
    /// The settings of a topic or broker.
    Resource {
        error_code: ErrorCode,
        error_message: Option<String>,
        resource_type: i8,
        resource_name: String,
        configs: Vec<Config>,
    }
}

structure! {
    /// A setting.
    Config {
        name: String,
        /// The value; `None` if there is none or it is sensitive.
        value: Option<String>,
        read_only: bool,
        /// The source of the value, one of this module's constants.
        config_source: i8 = -1,
        is_sensitive: bool,
        synonyms: Vec<Synonym>,
        /// The type of the value, one of this module's constants.
        config_type: i8 [3..],
        documentation: Option<String> [3..],
    }
}

structure! {
    /// A source of the setting's value; synonyms are in order of precedence.
    Synonym {
        name: String,
        value: Option<String>,
        source: i8,
    }
}

api!(DescribeConfigs, 1..=4, DescribeConfigsRequest => DescribeConfigsResponse);
