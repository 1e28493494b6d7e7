//! `OffsetDelete` (key 47): stored offsets of a group are removed.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Names the offsets to remove.
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
    /// One partition.
    RequestPartition {
        partition_index: i32,
    }
}

structure! {
    /// What was removed.
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
    /// Whether one partition's offset was removed.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
    }
}

api!(OffsetDelete, 0..=0, OffsetDeleteRequest => OffsetDeleteResponse);
