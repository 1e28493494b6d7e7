//! When an operation that was overtaken begins again.

use crate::metadata::{MetadataError, Remedy};

/// How often an operation begins before it gives up. Each time somebody else got on.
const ATTEMPTS_MAX: usize = 32;

/// Counts the beginnings of one operation.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    made: usize,
}

impl Attempts {
    /// Passes `error` as `Ok` when the operation should begin again.
    pub(super) fn again(&mut self, error: MetadataError) -> Result<(), MetadataError> {
        self.made += 1;
        let overtaken = matches!(&error, MetadataError::Store(_))
            && error.remedy() == Remedy::Refresh
            && self.made < ATTEMPTS_MAX;
        if overtaken { Ok(()) } else { Err(error) }
    }
}
