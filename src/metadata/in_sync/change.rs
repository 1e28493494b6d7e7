//! A change of an in-sync set, or of the leader, by the leader of the partition.

use crate::metadata::image::IsrMember;
use crate::types::{LeaderEpoch, PartitionIndex, TopicId, TopicName};

/// A change of the in-sync set or of the leader, computed by the leader of the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InSyncStateChange {
    /// The name of the topic.
    pub topic: TopicName,
    /// The id of the topic.
    pub topic_id: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
    /// The leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// The transaction that created the node of the state from which the change was computed.
    pub created: i64,
    /// The version of that state.
    pub version: i32,
    /// The members after the change, the leader among them.
    pub members: Vec<IsrMember>,
    /// The member that leads after the change, in the next leader epoch; `None` if the leader
    /// stays.
    pub successor: Option<IsrMember>,
    /// True if the partition does not count as caching any more (rule R14 in docs/replication.md).
    pub ends_caching: bool,
    /// True if damage in the leader's log stops its readers.
    pub is_damaged: bool,
    /// True if the change was tried before, with an unknown outcome.
    pub is_repeated: bool,
}

/// The result of a change of an in-sync set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InSyncOutcome {
    /// The change is in force; the state has this version.
    Applied {
        /// The version.
        version: i32,
    },
    /// The change is not in force and never will be, for example because the partition's state has
    /// changed, or the store was not reached.
    Refused,
    /// The change may be in force now or later. A repetition of the change shows which, or the
    /// partition's state if it has changed since.
    Unknown,
}

impl InSyncStateChange {
    /// The outcome of an attempt that has written nothing; an earlier attempt may have written.
    pub(in crate::metadata) fn unwritten(&self) -> InSyncOutcome {
        if self.is_repeated { InSyncOutcome::Unknown } else { InSyncOutcome::Refused }
    }
}
