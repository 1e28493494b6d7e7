//! `OffsetDelete` (key 47): deletes committed offsets of a group.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The offsets to delete.
    OffsetDeleteRequest {
        group_id: String,
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
    /// A partition.
    RequestPartition {
        partition_index: i32,
    }
}

structure! {
    /// The results.
    OffsetDeleteResponse {
        error_code: ErrorCode,
        throttle_time_ms: i32,
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
    /// The result for one partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
    }
}

api!(OffsetDelete, 0..=0, OffsetDeleteRequest => OffsetDeleteResponse);
