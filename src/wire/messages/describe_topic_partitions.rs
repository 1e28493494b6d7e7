//! `DescribeTopicPartitions` (key 75): topics and who keeps their partitions, page by page.

use crate::types::TopicId;
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Marked};

structure! {
    /// Asks for a page.
    DescribeTopicPartitionsRequest {
        /// The topics meant; none means all.
        topics: Vec<RequestTopic>,
        /// The most partitions on the page.
        response_partition_limit: i32 = 2_000,
        /// Where the page begins; `None` for the first.
        cursor: Option<Marked<Cursor>>,
    }
}

structure! {
    /// A topic asked for.
    RequestTopic {
        name: String,
    }
}

structure! {
    /// Where a page begins.
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
        /// Where the next page begins; `None` after the last.
        next_cursor: Option<Marked<Cursor>>,
    }
}

structure! {
    /// One topic, or the part of it on this page.
    Topic {
        error_code: ErrorCode,
        name: Option<String>,
        topic_id: TopicId = TopicId::NONE,
        is_internal: bool,
        partitions: Vec<Partition>,
        /// A bit for each operation, or the least number if they were not asked for.
        topic_authorized_operations: i32 = i32::MIN,
    }
}

structure! {
    /// Who keeps one partition.
    Partition {
        error_code: ErrorCode,
        partition_index: i32,
        leader_id: i32,
        leader_epoch: i32 = -1,
        replica_nodes: Vec<i32>,
        isr_nodes: Vec<i32>,
        /// Replicas that may lead though they are not in sync.
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
