//! Sessions on a store, the ways in which they fail, and the reactions to a failure.

use std::fmt;
use std::num::NonZeroU64;

/// The id of a session. A session owns the ephemeral nodes that it creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(NonZeroU64);

impl SessionId {
    /// A session of an earlier process, which has ended.
    pub(in crate::metadata) const PAST: Self = Self(NonZeroU64::MAX);

    /// The id that ZooKeeper writes as this number; `None` for 0, the id of no session.
    pub(in crate::metadata) fn of_zookeeper(id: i64) -> Option<Self> {
        NonZeroU64::new(id.cast_unsigned()).map(Self)
    }

    /// The id of a session of this process, the first of which has number 0.
    pub(in crate::metadata) const fn of_process(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(number))
    }
}

/// Shows the id as ZooKeeper's logs do.
impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

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

/// The reason why a session could not execute a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// No server answers. The call has had no effect.
    #[error("the metadata store at {servers} cannot be reached: {reason}")]
    Unreachable {
        /// The servers.
        servers: String,
        /// The fault of the last server tried.
        reason: String,
    },
    /// The connection broke before the answer to a write. Later reads of this session show the
    /// effect of the write, if it has had any.
    #[error("the metadata store did not answer: the change may have been made or not")]
    OutcomeUnknown,
    /// The store has ended the session, and its ephemeral nodes are gone.
    #[error("the metadata store has ended the session {0}")]
    Expired(SessionId),
    /// The access control of the store does not allow the call.
    #[error("the metadata store denies access to {path}: {reason}")]
    Denied {
        /// The node.
        path: String,
        /// The cause, as far as it is known.
        reason: &'static str,
    },
    /// The server refused the call for a reason that is not part of the interface.
    #[error("the metadata store refused the call on {path} with error {code}")]
    Refused {
        /// The node.
        path: String,
        /// The error code of the server.
        code: i32,
    },
}

impl SessionError {
    /// The possible reaction to this error.
    pub(in crate::metadata) fn remedy(&self) -> Remedy {
        match self {
            // After an expiry the same call may succeed in the next session.
            Self::Unreachable { .. } | Self::Expired(_) => Remedy::Retry,
            Self::OutcomeUnknown => Remedy::Refresh,
            Self::Denied { .. } | Self::Refused { .. } => Remedy::Reject,
        }
    }
}
