//! Retries of operations that lost a race.

use crate::metadata::{MetadataError, Remedy};

/// The maximum number of attempts. Each failed attempt means that another writer succeeded.
const ATTEMPTS_MAX: usize = 32;

/// The attempts of one operation.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    made: usize,
}

impl Attempts {
    /// Returns `Ok` if the operation should be retried after `error`, and `error` otherwise.
    pub(super) fn again(&mut self, error: MetadataError) -> Result<(), MetadataError> {
        self.made += 1;
        let overtaken = matches!(&error, MetadataError::Store(_))
            && error.remedy() == Remedy::Refresh
            && self.made < ATTEMPTS_MAX;
        if overtaken { Ok(()) } else { Err(error) }
    }
}
