//! The outcomes of records: tickets for callers, and the batches that are not delivered yet or have
//! failed.

mod delay_report;
mod outcome;
mod tickets;
mod undelivered;
#[cfg(test)]
mod undelivered_tests;

pub(crate) use delay_report::DelayReport;
pub(crate) use outcome::{BatchAck, Part};
pub(crate) use tickets::{Delivery, Settled, Wakeups};
pub use tickets::{RecordMetadata, Ticket};
pub(crate) use undelivered::Undelivered;
