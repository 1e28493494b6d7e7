//! The log of a partition: an append-only sequence of batches in segments.
//!
//! Every part owns its state, and the others reach it through its functions. The end of the log
//! belongs to `Tail`, whose lock is held while the disk syncs only by changes that a follower makes
//! to its log, and while a log is loaded. The tail alone changes the `View`: the bounds, which are
//! atomics, and the list of segments, of which readers take a snapshot without a lock. Locks are
//! taken in this order: removed files (held by a retention pass), flush, tail, epochs.
//!
//! ```text
//!   log start            flushed                    log end
//!       |  segment  |  segment  ·  (active segment)    |
//!       |___________|___________·______________________|
//!         never change           written, not yet durable
//! ```
//!
//! A log never decides which records a consumer may see: it reports the flushed offset, and reads
//! below an offset given by the caller.

mod checkpoint;
mod closed_segments;
mod epochs;
mod fetched;
mod flush_ticket;
mod flushes;
mod leader_epochs;
mod load;
mod partition_log;
mod reading;
mod removed_files;
mod retention;
mod tail;
mod truncate;

pub use checkpoint::CheckpointOffsets;
pub(in crate::storage) use closed_segments::{Closed, ClosedSegments};
pub use fetched::FetchedError;
pub use flush_ticket::FlushTicket;
pub use partition_log::{Log, StartPoint};
pub use reading::{Extent, InMemory, ReadLimit, RecordAt, StoredBatches};
pub use retention::Removed;
pub use tail::{AppendAt, Appended, Unflushed};
