//! `ListOffsets` (key 2): the offset at a time, or at one end of a partition.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// In place of a time: the end of the log, below which everything can be read.
pub const LATEST: i64 = -1;
/// In place of a time: the start of the log.
pub const EARLIEST: i64 = -2;
/// In place of a time, from version 7: the record with the greatest time.
pub const MAX_TIMESTAMP: i64 = -3;
/// In place of a time, from version 8: the first record on the broker's own disk.
pub const EARLIEST_LOCAL: i64 = -4;
/// In place of a time, from version 9: the last record in tiered storage.
pub const LATEST_TIERED: i64 = -5;
/// In place of a time, from version 11: the first record not yet in tiered storage.
pub const EARLIEST_PENDING_UPLOAD: i64 = -6;

structure! {
    /// Asks for offsets.
    ListOffsetsRequest {
        /// The follower that asks, or −1 for a consumer.
        replica_id: i32 = -1,
        /// 0 reads everything, 1 only what is not part of an open transaction.
        isolation_level: i8 [2..],
        topics: Vec<RequestTopic>,
        /// How long to wait for what lies in tiered storage.
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
    /// One partition and the time looked for.
    RequestPartition {
        partition_index: i32,
        /// The epoch the client takes for current, or −1 to skip the check.
        current_leader_epoch: i32 [4..] = -1,
        /// Milliseconds since 1970, or one of this module's negative constants.
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
    /// What was found in one partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        /// Time of the record found, or −1.
        timestamp: i64 = -1,
        /// The first offset at or after the time, or −1 if there is none.
        offset: i64 = -1,
        /// The epoch of the record found, or −1.
        leader_epoch: i32 [4..] = -1,
    }
}

api!(ListOffsets, 1..=11, ListOffsetsRequest => ListOffsetsResponse);
