//! `ListPartitionReassignments` (key 46): partitions that are being moved to other brokers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for ongoing reassignments.
    ListPartitionReassignmentsRequest {
        timeout_ms: i32 = 60_000,
        /// The requested partitions; `None` for all.
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
    /// The ongoing reassignments.
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
    /// An ongoing reassignment.
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
