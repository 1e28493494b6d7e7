//! `OffsetFetch` (key 9): how far groups have read.
//!
//! Up to version 7 a request is about one group, from version 8 about any number of them; the two
//! forms share only their flags.

use crate::types::TopicId;
use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks for stored offsets.
    OffsetFetchRequest {
        group_id: String [..=7],
        /// The partitions meant; `None` means all that have an offset.
        topics: Option<Vec<RequestTopic>> [..=7, nullable 2..] = Some(Vec::new()),
        groups: Vec<RequestGroup> [8..],
        /// Whether to fail with `UNSTABLE_OFFSET_COMMIT` while a transaction may change an offset.
        require_stable: bool [7..],
    }
}

structure! {
    /// One group.
    RequestGroup {
        group_id: String,
        /// The member that asks, in a group of the new protocol.
        member_id: Option<String> [9..],
        /// Its epoch, or −1.
        member_epoch: i32 [9..] = -1,
        /// The partitions meant; `None` means all that have an offset.
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
    /// Stored offsets.
    OffsetFetchResponse {
        throttle_time_ms: i32 [3..],
        topics: Vec<Topic> [..=7],
        error_code: ErrorCode [2..=7],
        groups: Vec<Group> [8..],
    }
}

structure! {
    /// Offsets of one group.
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
    /// How far one partition has been read.
    Partition {
        partition_index: i32,
        /// The next offset to read, or −1 if none is stored.
        committed_offset: i64,
        /// The epoch of the last record read, or −1.
        committed_leader_epoch: i32 [5..] = -1,
        /// What the consumer wanted to remember.
        metadata: Option<String>,
        error_code: ErrorCode,
    }
}

api!(OffsetFetch, 1..=10, OffsetFetchRequest => OffsetFetchResponse);
