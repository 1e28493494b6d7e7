//! Produce requests and responses as values.

use crate::types::TopicId;
use crate::wire::structure::{api, structure};
use crate::wire::{ErrorCode, LeaderIdAndEpoch, NodeEndpoint, Records};

/// The first version that identifies topics by id.
pub const BY_ID_SINCE: i16 = 13;

structure! {
    /// The batches to append.
    ProduceRequest {
        /// The transactional id, or `None` outside transactions.
        transactional_id: Option<String>,
        /// The required acknowledgements: 0 for none, 1 for the leader, −1 for all in-sync
        /// replicas.
        acks: i16,
        /// The maximum time to wait for the replicas.
        timeout_ms: i32,
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// The batches for a topic.
    RequestTopic {
        /// The name, up to version 12.
        name: String [..=12],
        /// The id, from version 13.
        topic_id: TopicId [13..],
        partitions: Vec<RequestPartition>,
    }
}

structure! {
    /// The batches for a partition.
    RequestPartition {
        index: i32,
        records: Records,
    }
}

structure! {
    /// The results.
    ProduceResponse {
        topics: Vec<Topic>,
        throttle_time_ms: i32,
        /// The addresses of the leaders named by [`Partition::current_leader`].
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
    /// The result for one partition.
    Partition {
        index: i32,
        error_code: ErrorCode,
        /// The offset of the first record, or −1 with an error.
        base_offset: i64,
        /// The timestamp assigned by the broker, or −1 if the records keep the producer's.
        log_append_time_ms: i64 = -1,
        log_start_offset: i64 [5..] = -1,
        /// The faulty records, if the error is about particular records.
        record_errors: Vec<RecordError> [8..],
        /// The error message.
        error_message: Option<String> [8..],
        /// The current leader, if the error is that this broker is not the leader.
        current_leader: LeaderIdAndEpoch [10.., tag 0],
    }
}

structure! {
    /// A faulty record.
    RecordError {
        /// The index within the batch, from 0.
        batch_index: i32,
        message: Option<String>,
    }
}

api!(Produce, 3..=13, ProduceRequest => ProduceResponse);
