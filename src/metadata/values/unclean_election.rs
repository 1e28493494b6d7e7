//! The value of `/streamlog/unclean_elections/<topic id>-<partition>-<leader epoch>`, which
//! people read, and the rebuilding of a state.

use serde::{Deserialize, Serialize};

/// An election that gave up records: its requester, and the known extent of the loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct UncleanElectionValue {
    /// The version of the format.
    pub(in crate::metadata) version: i32,
    pub(in crate::metadata) topic: String,
    pub(in crate::metadata) topic_id: String,
    pub(in crate::metadata) partition: i32,
    pub(in crate::metadata) leader: i32,
    pub(in crate::metadata) leader_epoch: i32,
    /// The end of the new leader's log, as the operator was told.
    pub(in crate::metadata) given_up_from: i64,
    /// The in-sync replicas before the election, which had all acknowledged records.
    pub(in crate::metadata) in_sync_before: Vec<i32>,
    pub(in crate::metadata) accepts_two_leaders: bool,
    pub(in crate::metadata) asked_by: String,
    /// Milliseconds since 1970.
    pub(in crate::metadata) timestamp: String,
}
