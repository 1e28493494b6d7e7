//! The outcomes of records: tickets for callers, and what is not delivered yet or has failed.

mod outcome;
mod tickets;
mod undelivered;

pub(crate) use outcome::{BatchAck, Part};
pub(crate) use tickets::{Delivery, Settled, Wakeups};
pub use tickets::{RecordMetadata, Ticket};
pub(crate) use undelivered::Undelivered;
