//! `DescribeProducers` (key 61): the idempotent producers that a partition remembers.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Asks about partitions.
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
    /// Who has written.
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
    /// Who has written to one partition.
    Partition {
        partition_index: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
        active_producers: Vec<Producer>,
    }
}

structure! {
    /// What is remembered of one producer.
    Producer {
        producer_id: i64,
        producer_epoch: i32,
        last_sequence: i32 = -1,
        last_timestamp: i64 = -1,
        /// Of its transactions' coordinator, or −1.
        coordinator_epoch: i32,
        /// Where its open transaction began, or −1.
        current_txn_start_offset: i64 = -1,
    }
}

api!(DescribeProducers, 0..=0, DescribeProducersRequest => DescribeProducersResponse);
