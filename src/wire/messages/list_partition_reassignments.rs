//! `ListPartitionReassignments` (key 46): partitions on their way to other brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks what is under way.
    ListPartitionReassignmentsRequest {
        timeout_ms: i32 = 60_000,
        /// The partitions meant; `None` means all.
        topics: Option<Vec<RequestTopic>>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        name: String,
        partition_indexes: Vec<i32>,
    }
}

structure! {
    /// What is under way.
    ListPartitionReassignmentsResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        topics: Vec<Topic>,
    }
}

structure! {
    /// Partitions of one topic.
    Topic {
        name: String,
        partitions: Vec<Partition>,
    }
}

structure! {
    /// One partition on its way.
    Partition {
        partition_index: i32,
        replicas: Vec<i32>,
        adding_replicas: Vec<i32>,
        removing_replicas: Vec<i32>,
    }
}

api!(
    ListPartitionReassignments,
    0..=0,
    ListPartitionReassignmentsRequest => ListPartitionReassignmentsResponse
);
