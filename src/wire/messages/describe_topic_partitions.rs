//! `DescribeTopicPartitions` (key 75): topics and the replicas of their partitions, page by page.

use crate::types::TopicId;
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Marked};

structure! {
    /// A request for a page.
    DescribeTopicPartitionsRequest {
        /// The requested topics; all if empty.
        topics: Vec<RequestTopic>,
        /// The maximum number of partitions in the response.
        response_partition_limit: i32 = 2_000,
        /// The start of the page; `None` for the first page.
        cursor: Option<Marked<Cursor>>,
    }
}

structure! {
    /// A requested topic.
    RequestTopic {
        name: String,
    }
}

structure! {
    /// The start of a page.
    Cursor {
        topic_name: String,
        partition_index: i32,
    }
}

structure! {
    /// A page.
    DescribeTopicPartitionsResponse {
        throttle_time_ms: i32,
        topics: Vec<Topic>,
        /// The start of the next page; `None` after the last page.
        next_cursor: Option<Marked<Cursor>>,
    }
}

structure! {
    /// A topic, or the part of it on this page.
    Topic {
        error_code: ErrorCode,
        name: Option<String>,
        topic_id: TopicId = TopicId::NONE,
        is_internal: bool,
        partitions: Vec<Partition>,
        /// The operations that the client may perform on the topic, as a bit mask; `i32::MIN` if
        /// not requested.
        topic_authorized_operations: i32 = i32::MIN,
    }
}

structure! {
    /// A partition.
    Partition {
        error_code: ErrorCode,
        partition_index: i32,
        leader_id: i32,
        leader_epoch: i32 = -1,
        replica_nodes: Vec<i32>,
        isr_nodes: Vec<i32>,
        /// Replicas that are eligible to lead although they are not in sync (KIP-966).
        eligible_leader_replicas: Option<Vec<i32>>,
        last_known_elr: Option<Vec<i32>>,
        offline_replicas: Vec<i32>,
    }
}

api!(
    DescribeTopicPartitions,
    0..=0,
    DescribeTopicPartitionsRequest => DescribeTopicPartitionsResponse
);
