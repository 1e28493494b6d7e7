//! The decisions of a coordinator: responses to send, records to append.
//!
//! A response that depends on records does not appear before the caller has reported them
//! replicated, so everything in `answers` may be sent at once.

use std::time::Duration;

use crate::group::{Answer, GroupRecord};
use crate::types::Timestamp;

/// The caller's id of a request. Each request is answered exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// The time on both clocks, and whether the wall clock can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The wall-clock time, stored with offsets; it may jump.
    pub wall: Timestamp,
    /// The monotonic time, for all timeouts; it never goes back.
    pub monotonic: Duration,
    /// True if the wall clock can be trusted to expire offsets.
    pub may_expire: bool,
}

/// The number of an append; appends must reach the log in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppendId(pub u64);

/// Records for the log of the coordinator's partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The id by which the append is reported as replicated or refused.
    pub id: AppendId,
    /// The records, appended atomically as one batch.
    pub records: Vec<GroupRecord>,
}

/// The result of one event.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "send the answers and append the records: later answers depend on them"]
pub struct Decision {
    /// Responses to send now.
    pub answers: Vec<(Ticket, Answer)>,
    /// Records to append now, in this order.
    pub appends: Vec<Append>,
}
