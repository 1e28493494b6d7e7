//! `ListOffsets` (key 2): offsets by timestamp, and the start and end of partitions.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// Query for the latest offset: the high watermark, or the last stable offset.
pub const LATEST: i64 = -1;
/// Query for the log start offset.
pub const EARLIEST: i64 = -2;
/// Query for the record with the largest timestamp, from version 7.
pub const MAX_TIMESTAMP: i64 = -3;
/// Query for the earliest offset on the broker's local disk, from version 8.
pub const EARLIEST_LOCAL: i64 = -4;
/// Query for the latest offset in tiered storage, from version 9.
pub const LATEST_TIERED: i64 = -5;
/// Query for the earliest offset that is not yet in tiered storage, from version 11.
pub const EARLIEST_PENDING_UPLOAD: i64 = -6;

structure! {
    /// A request for offsets.
    ListOffsetsRequest {
        /// The id of the follower, or −1 for a consumer.
        replica_id: i32 = -1,
        /// 0 to read everything, 1 to read only committed records.
        isolation_level: i8 [2..],
        topics: Vec<RequestTopic>,
        /// The time to wait for a lookup in tiered storage.
        timeout_ms: i32 [10..],
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
    /// A partition and the timestamp to look up.
    RequestPartition {
        partition_index: i32,
        /// The leader epoch known to the client, or −1 to skip the check.
        current_leader_epoch: i32 [4..] = -1,
        /// Milliseconds since the Unix epoch, or one of this module's negative constants.
        timestamp: i64,
    }
}

structure! {
    /// The offsets found.
    ListOffsetsResponse {
        throttle_time_ms: i32 [2..],
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
        /// The timestamp of the record, or −1.
        timestamp: i64 = -1,
        /// The first offset with this timestamp or a later one, or −1 if there is none.
        offset: i64 = -1,
        /// The leader epoch of the record, or −1.
        leader_epoch: i32 [4..] = -1,
    }
}

api!(ListOffsets, 1..=11, ListOffsetsRequest => ListOffsetsResponse);
