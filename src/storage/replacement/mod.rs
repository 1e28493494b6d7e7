//! The replacement of closed segments by a new segment, for compaction and repair.
//!
//! A crash at any moment leaves the old segments or the new one.

mod in_place;
mod writer;

pub(in crate::storage) use in_place::Replacement;
pub(in crate::storage) use writer::ReplacementWriter;
