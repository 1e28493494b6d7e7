//! `DescribeLogDirs` (key 35): data directories, and how much of them each partition takes.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks about the broker's disks.
    DescribeLogDirsRequest {
        /// The partitions meant; `None` means all.
        topics: Option<Vec<RequestTopic>>,
        /// Streamlog's own: whether the damaged stretches of the partitions are wanted as well.
        with_damage: bool [2.., tag 10_000],
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
    /// One data directory.
    LogDir {
        error_code: ErrorCode,
        /// Its absolute path.
        log_dir: String,
        topics: Vec<Topic>,
        /// Size of the file system, or −1.
        total_bytes: i64 [4..] = -1,
        /// What is free on it, or −1.
        usable_bytes: i64 [4..] = -1,
        /// Whether no new partitions are placed in it.
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
    /// One partition's log.
    Partition {
        partition_index: i32,
        /// Bytes in its segments.
        partition_size: i64,
        /// How many records it is behind.
        offset_lag: i64,
        /// Whether it is a copy that will replace the log of another directory.
        is_future_key: bool,
        /// Streamlog's own, if it was asked for: stretches that are known to be damaged.
        damaged: Vec<DamagedStretch> [2.., tag 10_000],
        /// Streamlog's own, if damage was asked for: offsets that are missing, or may be, without
        /// anything being damaged, or that a person has given up.
        gaps: Vec<Gap> [2.., tag 10_001],
    }
}

structure! {
    /// A range of offsets.
    Gap {
        first_offset: i64,
        /// The offset after the last.
        next_offset: i64,
    }
}

structure! {
    /// A damaged stretch of a segment.
    DamagedStretch {
        /// The first offset that cannot be read.
        first_offset: i64,
        /// The first offset behind it that can.
        next_offset: i64,
        /// The absolute path of the segment.
        file: String,
        /// Position of the first damaged byte.
        start_position: i64,
        /// Position after the last; the start where the bytes are missing.
        end_position: i64,
        /// Whether a person has given it up, so that readers pass over it.
        is_skipped: bool,
    }
}

api!(DescribeLogDirs, 1..=5, DescribeLogDirsRequest => DescribeLogDirsResponse);
