//! What readers see of open transactions, as a request says it.
//!
//! There are none, so that all readers see the same; a level that Kafka does not have is refused
//! all the same, since nobody can say what its sender takes the answer for.

use crate::wire::ErrorCode;

/// Which records a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// All.
    ReadUncommitted,
    /// Those that no open transaction may take back.
    ReadCommitted,
}

impl Isolation {
    /// The isolation level of this number.
    ///
    /// # Errors
    /// `INVALID_REQUEST` when there is none.
    pub(crate) fn of(level: i8) -> Result<Self, ErrorCode> {
        match level {
            0 => Ok(Self::ReadUncommitted),
            1 => Ok(Self::ReadCommitted),
            _ => Err(ErrorCode::InvalidRequest),
        }
    }
}
