//! `OffsetCommit` (key 8): stores the offsets of a group.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The offsets to store.
    OffsetCommitRequest {
        group_id: String,
        /// The generation of a classic group or the member epoch of a new one; −1 if the client is
        /// no member of the group.
        generation_id_or_member_epoch: i32 = -1,
        /// The member id; empty if the client is no member of the group.
        member_id: String,
        /// The group instance id of a static member.
        group_instance_id: Option<String> [7..],
        /// The time to keep the offsets, or −1 for the broker's default.
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
    /// The offset of a partition.
    RequestPartition {
        partition_index: i32,
        /// The next offset to consume.
        committed_offset: i64,
        /// The leader epoch of the last consumed record, or −1.
        committed_leader_epoch: i32 [6..] = -1,
        /// The consumer's metadata.
        committed_metadata: Option<String>,
    }
}

structure! {
    /// The results.
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
    /// The result for one partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
    }
}

api!(OffsetCommit, 2..=10, OffsetCommitRequest => OffsetCommitResponse);
