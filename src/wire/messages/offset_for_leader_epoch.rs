//! `OffsetForLeaderEpoch` (key 23): where an epoch ended, so that a reader can see whether its
//! history is the leader's.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks for the ends of epochs.
    OffsetForLeaderEpochRequest {
        /// The follower that asks; −1 for a consumer, −2 for anyone.
        replica_id: i32 [3..] = -2,
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        topic: String,
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// One partition and the epoch looked for.
    RequestPartition {
        partition: i32,
        /// The epoch the reader takes for current, or −1 to skip the check.
        current_leader_epoch: i32 = -1,
        leader_epoch: i32,
    }
}

structure! {
    /// The ends of epochs.
    OffsetForLeaderEpochResponse {
        throttle_time_ms: i32,
        topics: Vec<Topic>,
    }
}

structure! {
    /// Partitions of one topic.
    Topic {
        topic: String,
        partitions: Vec<Partition>,
    }
}

structure! {
    /// Where an epoch ended in one partition.
    Partition {
        error_code: ErrorCode,
        partition: i32,
        /// The greatest epoch not above the one asked for, or −1.
        leader_epoch: i32 = -1,
        /// The offset behind the last record of that epoch, or −1.
        end_offset: i64 = -1,
    }
}

api!(OffsetForLeaderEpoch, 2..=4, OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse);
