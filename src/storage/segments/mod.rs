//! A segment of a log: its batches, its two sparse indexes and its seal.
//!
//! `%020d.log`, named by its base offset, holds batches byte for byte, one after another. The bytes
//! below a segment's published size change only if the log is truncated; only the last segment of a
//! log grows. Indexes and seals are caches: absent or wrong ones are rebuilt from the batches.

mod batch_reader;
mod checking;
mod context;
mod entry;
mod file_name;
mod index;
mod indexer;
mod integrity;
mod locate;
mod salvage;
mod scan;
mod seal;
mod segment;
mod walk;
mod window;

pub(in crate::storage) use checking::SegmentCheck;
pub(crate) use context::LogContext;
pub use context::LogEnv;
pub(crate) use entry::{Entry, OffsetEntry, TimeEntry};
pub(crate) use file_name::{FileKind, SegmentFile, removed_segment};
pub(crate) use indexer::Indexer;
pub use integrity::Damage;
pub(crate) use integrity::LogEnd;
pub(crate) use integrity::{
    BatchCheck, Chain, CheckProgress, Checked, Damages, HeaderDigest, HeaderDigests, HeldDigests,
    TrackedFile, VerifiedRanges,
};
pub(crate) use locate::Span;
pub use scan::{BadBatch, Expected};
pub(crate) use scan::{BatchScan, Passed, Scanned};
pub(crate) use seal::Seal;
pub(crate) use segment::Segment;
pub(crate) use walk::{BatchWalk, Located};
pub(crate) use window::{Loaded, Medium, Source};
