//! `CreatePartitions` (key 37): adds partitions to topics.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

structure! {
    /// The topics to extend.
    CreatePartitionsRequest {
        topics: Vec<RequestTopic>,
        /// The time to wait until the partitions exist.
        timeout_ms: i32,
        /// True to validate without changing anything.
        validate_only: bool,
    }
}

structure! {
    /// A topic to extend.
    RequestTopic {
        name: String,
        /// The new total number of partitions.
        count: i32,
        /// The replicas of the new partitions, in order; `None` lets the broker assign them.
        assignments: Option<Vec<Assignment>>,
    }
}

structure! {
    /// The replicas of a new partition.
    Assignment {
        broker_ids: Vec<i32>,
    }
}

structure! {
    /// The results.
    CreatePartitionsResponse {
        throttle_time_ms: i32,
        results: Vec<Topic>,
    }
}

structure! {
    /// The result for one topic.
    Topic {
        name: String,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(CreatePartitions, 0..=3, CreatePartitionsRequest => CreatePartitionsResponse);
