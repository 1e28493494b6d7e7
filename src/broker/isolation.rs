//! Isolation levels of readers.
//!
//! There are no transactions, so both levels read the same records. An unknown level is still
//! refused, since its semantics are unknown.

use crate::wire::ErrorCode;

/// The isolation level of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Read all records.
    ReadUncommitted,
    /// Read only records that are not part of an open transaction.
    ReadCommitted,
}

impl Isolation {
    /// Parses an isolation level.
    ///
    /// # Errors
    /// `INVALID_REQUEST` for an unknown level.
    pub(crate) fn of(level: i8) -> Result<Self, ErrorCode> {
        match level {
            0 => Ok(Self::ReadUncommitted),
            1 => Ok(Self::ReadCommitted),
            _ => Err(ErrorCode::InvalidRequest),
        }
    }
}
