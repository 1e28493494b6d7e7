//! What a coordinator wants done: answers to send, records to append.
//!
//! An answer that rests on records does not appear before the caller has reported them replicated,
//! so whatever is in `answers` may be sent at once.

use std::time::Duration;

use crate::group::{Answer, GroupRecord};
use crate::types::Timestamp;

/// The caller's name for a request. Each is answered exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Both clocks at one moment, and what the wall clock is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Stored with offsets; may jump.
    pub wall: Timestamp,
    /// Measures every timeout; never goes back.
    pub monotonic: Duration,
    /// Whether the wall clock is right enough to remove anything for its age.
    pub may_expire: bool,
}

/// Number of an append, rising with the order in which appends have to reach the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// Records for the log of the coordinator's partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// For reporting its fate: every append is reported replicated or refused.
    pub id: AppendId,
    /// To be appended as one batch, all or nothing.
    pub records: Vec<GroupRecord>,
}

/// What a coordinator decided.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "the answers are owed, and later ones rest on the appends"]
pub struct Decision {
    /// To be sent now.
    pub answers: Vec<(Ticket, Answer)>,
    /// To be appended now, in this order.
    pub appends: Vec<Append>,
}
