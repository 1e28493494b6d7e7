//! `ElectLeaders` (key 43): partitions go back to their preferred leaders.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// The first replica shall lead.
pub const PREFERRED: i8 = 0;
/// Any live replica shall lead, even if that loses records.
pub const UNCLEAN: i8 = 1;

structure! {
    /// Asks for elections.
    ElectLeadersRequest {
        /// By this module's constants; version 0 means the preferred leaders.
        election_type: i8 [1..],
        /// The partitions meant; `None` means all that need one.
        topic_partitions: Option<Vec<RequestTopic>>,
        timeout_ms: i32 = 60_000,
    }
}

structure! {
    /// Partitions of one topic.
    RequestTopic {
        topic: String,
        partitions: Vec<i32>,
    }
}

structure! {
    /// What came of the elections.
    ElectLeadersResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode [1..],
        replica_election_results: Vec<Topic>,
    }
}

structure! {
    /// Elections in one topic.
    Topic {
        topic: String,
        partition_result: Vec<Partition>,
    }
}

structure! {
    /// The election in one partition.
    Partition {
        partition_id: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(ElectLeaders, 0..=2, ElectLeadersRequest => ElectLeadersResponse);
