//! Where a reader begins.

use crate::types::{Offset, Timestamp};

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first record there is.
    Earliest,
    /// With what is flushed from now on.
    Latest,
    /// With the record of this offset.
    At(Offset),
    /// With the first record of this time or later; when there is none, as `Latest`.
    Since(Timestamp),
}
