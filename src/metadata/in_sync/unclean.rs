//! Requests for a leader from outside the in-sync set, which give up records, and the refusals of
//! an operator's decisions about a partition.

use crate::types::{BrokerId, Offset};

/// A request for an election that gives up records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::metadata) struct UncleanRequest {
    /// The broker that is to lead.
    pub(in crate::metadata) leader: BrokerId,
    /// The records from this offset on are given up.
    pub(in crate::metadata) given_up_from: Offset,
    /// True if a leader that may be alive is replaced too: both may answer for a while.
    pub(in crate::metadata) accepts_two_leaders: bool,
}

/// The reason why an operator's decision about a partition is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecisionRefusal {
    /// A replica can lead without a loss.
    #[error(
        "broker {0} leads the partition, or can lead it, with all acknowledged records: none have \
         to be given up"
    )]
    Unneeded(BrokerId),
    /// The broker cannot lead.
    #[error("broker {0} has no replica of the partition, or does not run")]
    NotAlive(BrokerId),
    /// A member of the in-sync set may answer clients without the metadata store.
    #[error(
        "it is not proved that the process of broker {0} has ended: it may answer clients although \
         its session has, so this needs the acceptance of two leaders"
    )]
    MayLive(BrokerId),
    /// The state of the partition needs not be rebuilt.
    #[error("the state of the partition can be read, or is about to be made: nothing is rebuilt")]
    StateInForce,
    /// The data directory of a replica is not known.
    #[error(
        "the data directory of broker {0} is not known, so it could not be told from an empty one \
         later: start broker {0} first"
    )]
    UnknownDirectory(BrokerId),
    /// There are no records to give up.
    #[error("the partition has never had a leader")]
    NoState,
}
