//! Sending records: callers append to open batches, and a task of the client sends them.
//!
//! ```text
//! caller   send → partitioner → queue of the partition (under a short lock)
//! task     queue → send queue (sequences, retries) → request to the leader → response → tickets
//! ```
//!
//! A queue is shared by callers and the task; appending a record wakes the task only if it opens or
//! fills a batch. A send queue belongs to the task alone. Memory is bounded by one budget: a caller
//! that sends faster than the brokers accept blocks.

mod audit;
mod awaiting;
mod buffer_pool;
mod columns;
mod config;
mod delivered;
mod delivery;
mod handle;
#[cfg(test)]
mod model_broker_tests;
mod packed;
mod partitioner;
mod publishing;
mod queue;
#[cfg(test)]
mod queue_tests;
mod record;
mod request;
mod send_queue;
#[cfg(test)]
mod send_queue_tests;
mod sender;
mod shared;
mod splitting;
mod topics;

pub use columns::{BytesGiven, ColumnsGiven, HeadersGiven, NumbersGiven, Validity};
pub use config::{Acks, ProducerConfig};
pub use delivered::DeliveredBatches;
pub use delivery::{RecordMetadata, Ticket};
pub use handle::Producer;
pub use partitioner::{Choice, Partitioner};
pub use record::ProducerRecord;

pub(crate) use handle::WeakProducer;
pub(crate) use request::outcome;
