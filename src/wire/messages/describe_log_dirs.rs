//! `DescribeLogDirs` (key 35): data directories and the sizes of their partitions.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the data directories.
    DescribeLogDirsRequest {
        /// The requested partitions; `None` for all.
        topics: Option<Vec<RequestTopic>>,
        /// A streamlog extension: true to include the damaged stretches of the partitions.
        with_damage: bool [2.., tag 10_000],
        /// A streamlog extension: true to include the ends of the logs.
        with_ends: bool [2.., tag 10_001],
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        topic: String,
        partitions: Vec<i32>,
    }
}

structure! {
    /// The data directories.
    DescribeLogDirsResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode [3..],
        results: Vec<LogDir>,
    }
}

structure! {
    /// A data directory.
    LogDir {
        error_code: ErrorCode,
        /// The absolute path.
        log_dir: String,
        topics: Vec<Topic>,
        /// The size of the file system, or −1.
        total_bytes: i64 [4..] = -1,
        /// The free space of the file system, or −1.
        usable_bytes: i64 [4..] = -1,
        /// True if no new partitions are placed in the directory.
        is_cordoned: bool [5..],
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
    /// The log of a partition.
    Partition {
        partition_index: i32,
        /// The size of its segments in bytes.
        partition_size: i64,
        /// The number of records by which the replica lags.
        offset_lag: i64,
        /// True if the log will replace that of another directory.
        is_future_key: bool,
        /// A streamlog extension, on request: the known damaged stretches.
        damaged: Vec<DamagedStretch> [2.., tag 10_000],
        /// A streamlog extension, if damage is requested: offsets that are missing or may be
        /// missing, although nothing is damaged, and offsets that an operator has given up.
        gaps: Vec<Gap> [2.., tag 10_001],
        /// A streamlog extension, on request: the end of the log.
        end: LogEnd [2.., tag 10_002],
    }
}

structure! {
    /// The end of a log.
    LogEnd {
        /// The last leader epoch, or −1.
        last_epoch: i32 = -1,
        /// The offset of the next record, or −1 if it was not requested.
        end_offset: i64 = -1,
    }
}

structure! {
    /// A range of offsets.
    Gap {
        first_offset: i64,
        /// The offset after the range.
        next_offset: i64,
    }
}

structure! {
    /// A damaged stretch of a segment.
    DamagedStretch {
        /// The first offset that cannot be read.
        first_offset: i64,
        /// The first readable offset after the stretch.
        next_offset: i64,
        /// The absolute path of the segment.
        file: String,
        /// The position of the first damaged byte.
        start_position: i64,
        /// The position after the last damaged byte; equal to the start if bytes are missing.
        end_position: i64,
        /// True if an operator has given up the stretch, so that readers skip it.
        is_skipped: bool,
    }
}

api!(DescribeLogDirs, 1..=5, DescribeLogDirsRequest => DescribeLogDirsResponse);
