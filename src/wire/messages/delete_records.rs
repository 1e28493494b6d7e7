//! `DeleteRecords` (key 21): the start of partitions moves up.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says what to delete.
    DeleteRecordsRequest {
        topics: Vec<RequestTopic>,
        /// How long to wait until the replicas have done it too.
        timeout_ms: i32,
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
        /// The first offset to keep; −1 means the high watermark.
        offset: i64,
    }
}

structure! {
    /// What was deleted.
    DeleteRecordsResponse {
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
    /// What became of one partition.
    Partition {
        partition_index: i32,
        /// The first offset now, or −1 beside an error.
        low_watermark: i64,
        error_code: ErrorCode,
    }
}

api!(DeleteRecords, 0..=2, DeleteRecordsRequest => DeleteRecordsResponse);
