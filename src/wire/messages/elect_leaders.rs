//! `ElectLeaders` (key 43): holds leader elections.

use crate::wire::ErrorCode;
use crate::wire::structure::{api, structure};

/// Elect the preferred replica.
pub const PREFERRED: i8 = 0;
/// Elect any live replica, even if records are lost.
pub const UNCLEAN: i8 = 1;
/// A streamlog extension, which other systems refuse: make the state of a partition again.
pub const REBUILD: i8 = 100;

structure! {
    /// A request for elections.
    ElectLeadersRequest {
        /// The type of the election, one of this module's constants; version 0 stands for
        /// `PREFERRED`.
        election_type: i8 [1..],
        /// The requested partitions; `None` for all that need an election.
        topic_partitions: Option<Vec<RequestTopic>>,
        timeout_ms: i32 = 60_000,
        /// A streamlog extension between its brokers: true if the receiver should only begin to
        /// hand over the partitions that it leads, and answer without waiting for new leaders.
        begins_only: bool [2.., tag 10_000],
        /// A streamlog extension: the loss that an operator accepts with an unclean election of one
        /// partition. Without it, no unclean election is held.
        accepted_loss: AcceptedLoss [2.., tag 10_001],
        /// A streamlog extension: with `REBUILD`, the leader epoch of the state.
        rebuilt_epoch: i32 [2.., tag 10_002] = -1,
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
    /// A loss of records that an operator accepts.
    AcceptedLoss {
        /// The broker that is to lead, or −1 if no loss is accepted.
        leader: i32 = -1,
        /// The end of the log of `leader` as shown to the operator: records from it on are given
        /// up.
        given_up_from: i64 = -1,
        /// True if a leader that may be alive is replaced too, so that both may answer for a while.
        accepts_two_leaders: bool,
    }
}

structure! {
    /// The results.
    ElectLeadersResponse {
        throttle_time_ms: i32,
        error_code: ErrorCode [1..],
        replica_election_results: Vec<Topic>,
    }
}

structure! {
    /// The results for a topic.
    Topic {
        topic: String,
        partition_result: Vec<Partition>,
    }
}

structure! {
    /// The result for one partition.
    Partition {
        partition_id: i32,
        error_code: ErrorCode,
        error_message: Option<String>,
    }
}

api!(ElectLeaders, 0..=2, ElectLeadersRequest => ElectLeadersResponse);
