//! `OffsetFetch` (key 9): the committed offsets of groups.
//!
//! Up to version 7 a request has one group, from version 8 on any number. The two forms share only
//! `require_stable`.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for committed offsets.
    OffsetFetchRequest {
        group_id: String [..=7],
        /// The requested partitions; `None` for all with a committed offset.
        topics: Option<Vec<RequestTopic>> [..=7, nullable 2..] = Some(Vec::new()),
        groups: Vec<RequestGroup> [8..],
        /// True to fail with `UNSTABLE_OFFSET_COMMIT` while a transaction may change an offset.
        require_stable: bool [7..],
    }
}

structure! {
    /// A requested group.
    RequestGroup {
        group_id: String,
        /// The id of the requesting member, in a group of the new protocol.
        member_id: Option<String> [9..],
        /// The epoch of the member, or −1.
        member_epoch: i32 [9..] = -1,
        /// The requested partitions; `None` for all with a committed offset.
        topics: Option<Vec<RequestTopic>>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        /// The name, up to version 9.
        name: String [..=9],
        /// The id, from version 10.
        topic_id: TopicId [10..],
        partition_indexes: Vec<i32>,
    }
}

structure! {
    /// The committed offsets.
    OffsetFetchResponse {
        throttle_time_ms: i32 [3..],
        topics: Vec<Topic> [..=7],
        error_code: ErrorCode [2..=7],
        groups: Vec<Group> [8..],
    }
}

structure! {
    /// The offsets of a group.
    Group {
        group_id: String,
        topics: Vec<Topic>,
        error_code: ErrorCode,
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
    /// The offset of a partition.
    Partition {
        partition_index: i32,
        /// The next offset to consume, or −1 if none is committed.
        committed_offset: i64,
        /// The leader epoch of the last consumed record, or −1.
        committed_leader_epoch: i32 [5..] = -1,
        /// The consumer's metadata.
        metadata: Option<String>,
        error_code: ErrorCode,
    }
}

api!(OffsetFetch, 1..=10, OffsetFetchRequest => OffsetFetchResponse);
