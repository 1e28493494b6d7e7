//! One segment of a log: its batches, its two sparse indexes and its seal.
//!
//! `%020d.log`, named by its base offset, holds batches byte for byte, one after another. The bytes
//! below a segment's published size never change; only the last segment of a log grows. Indexes
//! and seals are caches: absent or wrong ones are made again from the batches.

mod damage;
mod entry;
mod file_name;
mod index;
mod locate;
mod scan;
mod seal;
mod segment;
mod walk;

pub(crate) use damage::{Damage, Damages};
pub(crate) use entry::{OffsetEntry, TimeEntry};
pub(crate) use file_name::{FileKind, SegmentFile};
pub(crate) use locate::Located;
pub(crate) use scan::{BatchScan, Medium, Scanned};
pub(crate) use seal::Seal;
pub(crate) use segment::{Home, Segment};
pub(crate) use walk::BatchWalk;
