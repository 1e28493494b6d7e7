//! The current leader of a partition, as the responses to producers and consumers name it to a
//! client that asked another broker (KIP-951).

use crate::types::{BrokerId, LeaderEpoch};
use crate::wire::structure::structure;

structure! {
    /// The leader of a partition; −1 if unknown.
    LeaderIdAndEpoch {
        leader_id: i32 = -1,
        leader_epoch: i32 = -1,
    }
}

structure! {
    /// The address of a broker.
    NodeEndpoint {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
    }
}

impl From<(BrokerId, LeaderEpoch)> for LeaderIdAndEpoch {
    fn from((leader, epoch): (BrokerId, LeaderEpoch)) -> Self {
        Self { leader_id: leader.0, leader_epoch: epoch.0 }
    }
}
