//! `OffsetForLeaderEpoch` (key 23): the end offset of a leader epoch, by which a reader detects
//! that its history diverges from the leader's.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the end offsets of epochs.
    OffsetForLeaderEpochRequest {
        /// The id of the follower; −1 for a consumer, −2 for any other client.
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
    /// A partition and the epoch to look up.
    RequestPartition {
        partition: i32,
        /// The leader epoch known to the client, or −1 to skip the check.
        current_leader_epoch: i32 = -1,
        leader_epoch: i32,
    }
}

structure! {
    /// The end offsets of epochs.
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
    /// The result for one partition.
    Partition {
        error_code: ErrorCode,
        partition: i32,
        /// The largest epoch not above the requested one, or −1.
        leader_epoch: i32 = -1,
        /// The end offset of that epoch, or −1.
        end_offset: i64 = -1,
        /// A streamlog extension for its clients: the loss of records of the requested epoch, if an
        /// operator accepted any.
        loss: Loss [4.., tag 10_000],
    }
}

structure! {
    /// The loss of records that an operator accepted.
    Loss {
        /// The number of such losses of the partition so far; 0 if there was none.
        generation: i32,
        /// The leader epoch that began with the loss.
        leader_epoch: i32,
        /// The records of earlier epochs from this offset on were given up.
        from_offset: i64,
    }
}

api!(OffsetForLeaderEpoch, 2..=4, OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse);
