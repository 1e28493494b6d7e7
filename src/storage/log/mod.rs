//! The log of a partition: an append-only sequence of batches in segments.
//!
//! Every part owns its state, and the others reach it through its functions. [`Log`] puts the parts
//! together; a function that returns a part has the name of the part. The end of the log belongs to
//! `Tail`. Its lock is not held while the disk syncs, except by changes that a follower makes to
//! its log and while a log is loaded. The tail alone changes the `View`: the bounds, which are
//! atomics, and the list of segments, of which readers take a snapshot without a lock. Locks are
//! taken in this order: removed files (held while segments are removed, truncated or replaced),
//! flush, tail, epochs.
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
mod flush_turn;
mod flushes;
mod leader_epochs;
mod partition_log;
mod reading;
mod removed_files;
mod retention;
mod tail;
mod tail_lock;
mod truncate;

pub use checkpoint::{CheckpointOffsets, Checkpoints};
pub(in crate::storage) use closed_segments::{Closed, ClosedSegments};
pub use epochs::{EpochChange, Epochs};
pub use fetched::FetchedError;
pub use flushes::{FlushTicket, Flushes};
pub use partition_log::{Log, StartPoint};
pub use reading::{
    Checks, ColdRanges, Extent, InMemory, Lookups, ReadLimit, Reads, RecordAt, StoredBatches,
};
pub use retention::{Removed, Retention};
pub use tail::{AppendAt, Appended, Unflushed};
pub use tail_lock::TailLock;
pub use truncate::Truncator;
