//! `DeleteRecords` (key 21): advances the log start offset of partitions.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The partitions and offsets.
    DeleteRecordsRequest {
        topics: Vec<RequestTopic>,
        /// The time to wait until the replicas have deleted the records too.
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
    /// A partition.
    RequestPartition {
        partition_index: i32,
        /// The first offset to keep; −1 means the high watermark.
        offset: i64,
        /// A streamlog extension: damage to skip; nothing is deleted then. `offset` is 0 in this
        /// case, so a broker that does not know this field deletes nothing either.
        skip_damage: OffsetRange [2.., tag 10_000],
    }
}

structure! {
    /// A half-open range of offsets; empty by default.
    OffsetRange {
        first_offset: i64 = -1,
        /// The offset after the last.
        next_offset: i64 = -1,
    }
}

structure! {
    /// The results.
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
    /// The result for one partition.
    Partition {
        partition_index: i32,
        /// The new log start offset, or −1 with an error.
        low_watermark: i64,
        error_code: ErrorCode,
        /// A streamlog extension: the error message, if damage was to be skipped.
        error_message: Option<String> [2.., tag 10_000],
        /// A streamlog extension: the damaged stretches that are skipped now.
        skipped: Vec<SkippedStretch> [2.., tag 10_001],
    }
}

structure! {
    /// A damaged stretch that readers skip from now on.
    SkippedStretch {
        first_offset: i64,
        /// The first offset after the stretch.
        next_offset: i64,
        /// The absolute path of the copy of the stretch, empty if the stretch had no bytes.
        copy: String,
        /// The size of the stretch.
        bytes: i64,
        /// The number of bytes in the copy that are zeros because the disk could not read them.
        unreadable_bytes: i64,
    }
}

api!(DeleteRecords, 0..=2, DeleteRecordsRequest => DeleteRecordsResponse);
