//! The reactions to errors.

/// The possible reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// The caller's view is stale: read again, then decide again.
    Refresh,
    /// The call is wrong and will stay wrong.
    Reject,
    /// Nothing will succeed any more; the broker must stop.
    Fatal,
}
