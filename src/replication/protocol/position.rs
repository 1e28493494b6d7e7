//! The position from which a follower fetches, as follower and leader exchange it.

use std::time::Duration;

use crate::metadata::Incarnation;
use crate::types::{BrokerId, LeaderEpoch, Offset};

/// The position of a follower's log in a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPosition {
    /// The leader epoch in which the follower fetches.
    pub epoch: LeaderEpoch,
    /// The end of the follower's log.
    pub offset: Offset,
    /// The epoch of the follower's last record.
    pub last_epoch: LeaderEpoch,
    /// The offset below which the follower has flushed all records. The leader decides whether
    /// records count before they are flushed.
    pub flushed: Offset,
    /// The follower's floor.
    pub floor: Floor,
}

/// The offset below which all records were committed, as a follower knows it. Records that an
/// operator has given up since do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// The offset. It is above the end of a log that has lost records.
    pub offset: Offset,
    /// True if the leader would have had the follower remove records below it, in this leader
    /// epoch.
    pub is_kept: bool,
}

/// The identity of a replica that fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchingReplica {
    /// The broker id.
    pub broker: BrokerId,
    /// The incarnation that sent the fetch.
    pub incarnation: Incarnation,
    /// The registered incarnation of that broker, as the leader knows it; `None` if there is none.
    pub registered: Option<Incarnation>,
    /// The time at which the previous answer of the fetch session was sent; `None` without such an
    /// answer.
    pub follows: Option<Duration>,
}
