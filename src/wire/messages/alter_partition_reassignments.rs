//! `AlterPartitionReassignments` (key 45): moves partitions to other brokers, or cancels a move.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The reassignments to start or cancel.
    AlterPartitionReassignmentsRequest {
        timeout_ms: i32 = 60_000,
        /// True if the number of replicas of a partition may change.
        allow_replication_factor_change: bool [1..] = true,
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        name: String,
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// The new assignment of a partition.
    RequestPartition {
        partition_index: i32,
        /// The new replicas, preferred leader first; `None` cancels a reassignment.
        replicas: Option<Vec<i32>>,
    }
}

structure! {
    /// The results.
    AlterPartitionReassignmentsResponse {
        throttle_time_ms: i32,
        allow_replication_factor_change: bool [1..] = true,
        error_code: ErrorCode,
        error_message: Option<String>,
        responses: Vec<Topic>,
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
    /// The result for one partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(
    AlterPartitionReassignments,
    0..=1,
    AlterPartitionReassignmentsRequest => AlterPartitionReassignmentsResponse
);
