//! `CreatePartitions` (key 37): topics get more partitions.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// Says which topics should grow.
    CreatePartitionsRequest {
        topics: Vec<RequestTopic>,
        /// How long to wait until the partitions are there.
        timeout_ms: i32,
        /// Whether only to check.
        validate_only: bool,
    }
}

structure! {
    /// A topic that should grow.
    RequestTopic {
        name: String,
        /// How many partitions it shall have, the present ones included.
        count: i32,
        /// Which brokers get the new partitions, in order; `None` leaves it to the broker.
        assignments: Option<Vec<Assignment>>,
    }
}

structure! {
    /// The brokers that get one new partition.
    Assignment {
        broker_ids: Vec<i32>,
    }
}

structure! {
    /// What has grown.
    CreatePartitionsResponse {
        throttle_time_ms: i32,
        results: Vec<Topic>,
    }
}

structure! {
    /// What became of one topic.
    Topic {
        name: String,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(CreatePartitions, 0..=3, CreatePartitionsRequest => CreatePartitionsResponse);
