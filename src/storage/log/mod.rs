//! One partition's log: an append-only sequence of batches in segments.
//!
//! Who may touch what: the end belongs to `Mutex<Tail>`, held while the disk syncs by `truncate`
//! alone; readers take a snapshot of the segments and no lock; offsets are read without one. Locks
//! are taken in the order retention pass, flush turn, tail, epochs.
//!
//! ```text
//!   log start            flushed                    log end
//!       |  segment  |  segment  ·  (active segment)    |
//!       |___________|___________·______________________|
//!         never change           written, not yet durable
//! ```
//!
//! A log never decides what a consumer may see: it says what is flushed, and reads below an offset
//! that it is given.

mod append;
mod checkpoint;
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

pub(in crate::storage) use append::producer_batch;
pub use append::{AppendAt, Appended};
pub use checkpoint::Marks;
pub(in crate::storage) use checkpoint::discard_snapshots;
pub use flush::{FlushTicket, Unflushed};
pub use partition_log::{Log, LogEnv, StartPoint};
pub use reading::{Extent, ReadLimit, RecordAt};
pub use retention::Removed;
