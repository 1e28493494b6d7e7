//! `CreateTopics` (key 19).

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Describes the topics to create.
    CreateTopicsRequest {
        topics: Vec<RequestTopic>,
        /// How long to wait until the topics are there.
        timeout_ms: i32 = 60_000,
        /// Whether only to check.
        validate_only: bool,
    }
}

structure! {
    /// A topic to create.
    RequestTopic {
        name: String,
        /// −1 leaves it to the broker, or to `assignments`.
        num_partitions: i32,
        /// −1 leaves it to the broker, or to `assignments`.
        replication_factor: i16,
        /// Which brokers get which partition; empty leaves it to the broker.
        assignments: Vec<Assignment>,
        configs: Vec<RequestConfig>,
    }
}

structure! {
    /// The brokers that get one partition.
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
    /// What was created.
    CreateTopicsResponse {
        throttle_time_ms: i32,
        topics: Vec<Topic>,
    }
}

structure! {
    /// What became of one topic.
    Topic {
        name: String,
        topic_id: TopicId [7..],
        error_code: ErrorCode,
        error_message: Option<String>,
        /// Why `configs` are missing, if they are.
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
        /// Where the value comes from, by the constants of `describe_configs`.
        config_source: i8 = -1,
        is_sensitive: bool,
    }
}

api!(CreateTopics, 2..=7, CreateTopicsRequest => CreateTopicsResponse);
