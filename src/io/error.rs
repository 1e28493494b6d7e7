//! What an error of the system means to the engine.

use std::io::{Error, ErrorKind};

/// Whether a write failed for want of space (ENOSPC, EDQUOT, EFBIG): the bytes written so far are
/// cut back, and the caller may try again when space returns.
pub fn is_out_of_space(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}
