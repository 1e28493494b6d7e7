//! Publishing records: callers append to open batches, one task of the client sends them.
//!
//! ```text
//! caller   send → partitioner → queue of the partition (a short lock, no other thread is woken)
//! task     queue → lane (sequence, resends) → request to the leader's broker → answer → tickets
//! ```
//!
//! A queue belongs to the callers and the task together, a lane to the task alone. Memory is
//! bounded by one budget: who sends faster than the brokers take waits.

mod audit;
mod awaiting;
mod columns;
mod config;
mod handle;
mod landings;
mod lane;
#[cfg(test)]
mod lane_tests;
mod murmur;
mod partitioner;
mod queue;
mod request;
mod room;
mod sender;
mod splitting;
mod tickets;
mod topics;
mod undelivered;

pub use columns::{BytesGiven, ColumnsGiven, HeadersGiven, NumbersGiven, Validity};
pub use config::{Acks, ProducerConfig};
pub use handle::{Producer, ProducerRecord};
pub use landings::Landing;
pub use partitioner::{Choice, Partitioner};
pub use tickets::{RecordMetadata, Ticket};

pub(crate) use request::outcome;
