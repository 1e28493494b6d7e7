//! What can go wrong with a change of the cluster, and what to do about it.

use crate::metadata::StoreError;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// The caller's picture is old: look again, then decide again.
    Refresh,
    /// The call is wrong and will stay wrong.
    Reject,
    /// Nothing will succeed any more; the broker cannot go on.
    Fatal,
}

/// Why an operation on the cluster was not done.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The store did not do it.
    #[error("the metadata store refused")]
    Store(#[from] StoreError),
}
