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
        /// Streamlog's own: damage to be skipped, in which case nothing is deleted. `offset` is 0
        /// then, by which a broker that does not know this field deletes nothing either.
        skip_damage: OffsetRange [2.., tag 10_000],
    }
}

structure! {
    /// Offsets from the first to the last; the default holds none.
    OffsetRange {
        first_offset: i64 = -1,
        /// The offset after the last.
        next_offset: i64 = -1,
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
        /// Streamlog's own: the reason of an error, where damage was to be skipped.
        error_message: Option<String> [2.., tag 10_000],
        /// Streamlog's own: the damaged stretches that are skipped now.
        skipped: Vec<SkippedStretch> [2.., tag 10_001],
    }
}

structure! {
    /// A damaged stretch that readers pass over from now on.
    SkippedStretch {
        first_offset: i64,
        /// The first offset behind it.
        next_offset: i64,
        /// The absolute path of the copy of its bytes, empty where there were none.
        copy: String,
        /// Bytes of the stretch.
        bytes: i64,
        /// Bytes of the copy that are zeros, since the disk does not give them.
        unreadable_bytes: i64,
    }
}

api!(DeleteRecords, 0..=2, DeleteRecordsRequest => DeleteRecordsResponse);
