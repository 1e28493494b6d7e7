//! Produce requests and responses as values.

use crate::types::TopicId;
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, Records};

/// The version from which on requests and answers name topics by their ids.
pub const BY_ID_SINCE: i16 = 13;

structure! {
    /// Hands over batches.
    ProduceRequest {
        /// The transactional producer's id, or `None` outside transactions.
        transactional_id: Option<String>,
        /// When to answer: 0 never, 1 when the leader has it, −1 when all in-sync replicas do.
        acks: i16,
        /// How long to wait for the replicas.
        timeout_ms: i32,
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// Batches for one topic.
    RequestTopic {
        /// The name, up to version 12.
        name: String [..=12],
        /// The id, from version 13.
        topic_id: TopicId [13..],
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// Batches for one partition.
    RequestPartition {
        index: i32,
        records: Records,
    }
}

structure! {
    /// Where the batches went.
    ProduceResponse {
        topics: Vec<Topic>,
        throttle_time_ms: i32,
        /// Addresses of the leaders named by [`Partition::current_leader`].
        node_endpoints: Vec<NodeEndpoint> [10.., tag 0],
    }
}

structure! {
    /// Partitions of one topic.
    Topic {
        /// The name, up to version 12.
        name: String [..=12],
        /// The id, from version 13.
        topic_id: TopicId [13..],
        partitions: Vec<Partition>,
    }
}

structure! {
    /// What became of the batches for one partition.
    Partition {
        index: i32,
        error_code: ErrorCode,
        /// The offset given to the first record, or −1 beside an error.
        base_offset: i64,
        /// The time the broker put on the records, or −1 where they keep the producer's.
        log_append_time_ms: i64 = -1,
        log_start_offset: i64 [5..] = -1,
        /// Which records were at fault, when the error is about some of them.
        record_errors: Vec<RecordError> [8..],
        /// The error in words.
        error_message: Option<String> [8..],
        /// Who leads the partition, when the error is that this broker does not.
        current_leader: LeaderIdAndEpoch [10.., tag 0],
    }
}

structure! {
    /// A record at fault.
    RecordError {
        /// Its place in the batch, from 0.
        batch_index: i32,
        message: Option<String>,
    }
}

structure! {
    /// A partition's leader; −1 is unknown.
    LeaderIdAndEpoch {
        leader_id: i32 = -1,
        leader_epoch: i32 = -1,
    }
}

structure! {
    /// Where a broker is reached.
    NodeEndpoint {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
    }
}

api!(Produce, 3..=13, ProduceRequest => ProduceResponse);
