//! Reading records: a task of the client fetches ahead, and callers take from its queue.
//!
//! ```text
//! task     assignment (where to read) → fetch at each leader → arrivals (bounded by bytes)
//! caller   arrivals → chunk (checksum, unpacking, record by record) → messages, or a sink
//! ```
//!
//! Checksums and decompression run on the caller's thread, batch by batch, so the task only moves
//! bytes. A position advances with the records returned to the caller, not with fetched records.

mod assignment;
mod changes;
mod config;
mod fetch_buffer;
mod fetching;
mod handle;
mod losses;
mod membership;
mod message;
mod read_epochs;
mod readers;
mod reading;
mod shared;
mod sink;
mod stream;
mod topics;
mod until_end;

pub use changes::Change;
pub use config::{Commit, ConsumerConfig, GroupConfig, OutOfRange, Start, Strategy};
pub use handle::Consumer;
pub use message::Message;
pub use sink::{Patience, ReadRecord, Sink};
pub use stream::Stream;
pub use until_end::UntilEnd;

pub(crate) use fetch_buffer::Source;
pub(crate) use fetching::{FetchPlan, InOrder, OffsetRules, PartitionData, in_order};
pub(crate) use handle::WeakConsumer;
pub(crate) use membership::read_assignment;
