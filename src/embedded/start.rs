//! The start position of a reader.

use crate::types::{Offset, Timestamp};

/// The start position of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first record of the log.
    Earliest,
    /// Records flushed from now on.
    Latest,
    /// The record with this offset.
    At(Offset),
    /// The first record with this timestamp or a later one; if there is none, as `Latest`.
    Since(Timestamp),
}
