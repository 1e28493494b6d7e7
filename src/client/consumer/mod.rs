//! Reading records: one task of the client fetches ahead, callers take.
//!
//! ```text
//! task     assignment (where to read) → fetch at each leader → arrivals (bounded by bytes)
//! caller   arrivals → chunk (checksum, unpacking, record by record) → messages
//! ```
//!
//! What is checked and unpacked is done on the caller's thread, batch by batch, so that the task
//! only moves bytes. A position moves with what the caller was given, never with what was fetched.

mod arrivals;
mod assignment;
mod changes;
mod chunk;
#[cfg(test)]
mod chunk_tests;
mod config;
mod fetcher;
mod handle;
mod membership;
mod message;
mod readers;
mod request;
mod shared;
mod stream;
mod topics;
mod until_end;

pub use changes::Change;
pub use config::{ConsumerConfig, OutOfRange, Start};
pub use handle::Consumer;
pub use membership::{Commit, GroupConfig, Strategy};
pub use message::Message;
pub use stream::Stream;
pub use until_end::UntilEnd;

pub(crate) use membership::share_of;
