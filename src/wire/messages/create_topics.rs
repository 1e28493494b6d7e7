//! `CreateTopics` (key 19): creates topics.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The topics to create.
    CreateTopicsRequest {
        topics: Vec<RequestTopic>,
        /// The time to wait until the topics exist.
        timeout_ms: i32 = 60_000,
        /// True to validate without creating anything.
        validate_only: bool,
    }
}

structure! {
    /// A topic to create.
    RequestTopic {
        name: String,
        /// The number of partitions; −1 for the default, or if `assignments` is given.
        num_partitions: i32,
        /// The replication factor; −1 for the default, or if `assignments` is given.
        replication_factor: i16,
        /// The replicas of each partition; empty lets the broker assign them.
        assignments: Vec<Assignment>,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// The replicas of a partition.
    Assignment {
        partition_index: i32,
        broker_ids: Vec<i32>,
    }
}

structure! {
    /// A setting of the new topic.
    RequestConfig {
        name: String,
        value: Option<String>,
    }
}

structure! {
    /// The results.
    CreateTopicsResponse {
        throttle_time_ms: i32,
        topics: Vec<Topic>,
    }
}

structure! {
    /// The result for one topic.
    Topic {
        name: String,
        topic_id: TopicId [7..],
        error_code: ErrorCode,
        error_message: Option<String>,
        /// The reason why `configs` is missing, if it is.
        topic_config_error_code: ErrorCode [5.., tag 0],
        num_partitions: i32 [5..] = -1,
        replication_factor: i16 [5..] = -1,
        /// The settings in force.
        configs: Option<Vec<Config>> [5..],
    }
}

structure! {
    /// A setting of the topic.
    Config {
        name: String,
        value: Option<String>,
        read_only: bool,
        /// The source of the value, one of the constants of `describe_configs`.
        config_source: i8 = -1,
        is_sensitive: bool,
    }
}

api!(CreateTopics, 2..=7, CreateTopicsRequest => CreateTopicsResponse);
