//! `AlterPartitionReassignments` (key 45): partitions are sent to other brokers, or called back.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says where partitions shall be.
    AlterPartitionReassignmentsRequest {
        timeout_ms: i32 = 60_000,
        /// Whether a partition may get more or fewer replicas than it has.
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
    /// Where one partition shall be.
    RequestPartition {
        partition_index: i32,
        /// The brokers, the preferred leader first; `None` calls off what is under way.
        replicas: Option<Vec<i32>>,
    }
}

structure! {
    /// What was begun.
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
    /// Whether one partition is on its way.
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
