//! The log of a partition: an append-only sequence of batches in segments.
//!
//! Ownership: the end of the log belongs to `Mutex<Tail>`, which is held while the disk syncs only
//! by `truncate` and while a log is loaded. Readers take a snapshot of the segments and no lock;
//! offsets are atomics. Locks are taken in this order: deleted files (held by a retention pass),
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

mod append;
mod checkpoint;
mod closed_segments;
mod deleted_file;
mod epochs;
mod flush;
mod load;
mod offsets;
mod partition_log;
mod reading;
mod retention;
mod roll;
mod tail;
mod truncate;

pub use append::{AppendAt, Appended};
pub use checkpoint::CheckpointOffsets;
pub(in crate::storage) use closed_segments::{Closed, ClosedSegments};
pub use flush::{FlushTicket, Unflushed};
pub use partition_log::{Log, StartPoint};
pub use reading::{Extent, ReadLimit, RecordAt};
pub use retention::Removed;
