//! `OffsetCommit` (key 8): a group stores how far it has read.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Stores offsets.
    OffsetCommitRequest {
        group_id: String,
        /// The classic group's generation or the new group's member epoch; −1 outside a group.
        generation_id_or_member_epoch: i32 = -1,
        /// Empty outside a group.
        member_id: String,
        /// The name of a static member.
        group_instance_id: Option<String> [7..],
        /// How long to keep the offsets, or −1 for as long as the broker does.
        retention_time_ms: i64 [2..=4] = -1,
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        /// The name, up to version 9.
        name: String [..=9],
        /// The id, from version 10.
        topic_id: TopicId [10..],
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// How far one partition has been read.
    RequestPartition {
        partition_index: i32,
        /// The next offset to read.
        committed_offset: i64,
        /// The epoch of the last record read, or −1.
        committed_leader_epoch: i32 [6..] = -1,
        /// Whatever the consumer wants to remember.
        committed_metadata: Option<String>,
    }
}

structure! {
    /// What was stored.
    OffsetCommitResponse {
        throttle_time_ms: i32 [3..],
        topics: Vec<Topic>,
    }
}

structure! {
    /// Partitions of one topic.
    Topic {
        /// The name, up to version 9.
        name: String [..=9],
        /// The id, from version 10.
        topic_id: TopicId [10..],
        partitions: Vec<Partition>,
    }
}

structure! {
    /// Whether one partition's offset was stored.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
    }
}

api!(OffsetCommit, 2..=10, OffsetCommitRequest => OffsetCommitResponse);
