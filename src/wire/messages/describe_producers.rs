//! `DescribeProducers` (key 61): the state that partitions keep of idempotent producers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// A request for the producers of partitions.
    DescribeProducersRequest {
        topics: Vec<RequestTopic>,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        name: String,
        partition_indexes: Vec<i32>,
    }
}

structure! {
    /// The active producers.
    DescribeProducersResponse {
        throttle_time_ms: i32,
        topics: Vec<Topic>,
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
    /// The active producers of a partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        active_producers: Vec<Producer>,
    }
}

structure! {
    /// The state of a producer.
    Producer {
        producer_id: i64,
        producer_epoch: i32,
        last_sequence: i32 = -1,
        last_timestamp: i64 = -1,
        /// The epoch of the transaction coordinator, or −1.
        coordinator_epoch: i32,
        /// The first offset of the open transaction, or −1.
        current_txn_start_offset: i64 = -1,
    }
}

api!(DescribeProducers, 0..=0, DescribeProducersRequest => DescribeProducersResponse);
