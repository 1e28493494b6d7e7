//! The end of a connection.

use std::time::Duration;

use crate::broker::call::Unanswerable;
use crate::net::FrameError;

/// The reason why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Closed {
    /// The peer closed it between frames.
    #[error("closed by the peer")]
    ByPeer,
    /// The peer sent nothing for `connections.max.idle.ms`, or its request made no progress for
    /// that time.
    #[error("idle for {0:?}")]
    Idle(Duration),
    /// A request or a response took longer than `transfer.deadline.ms`.
    #[error("a transfer took longer than {0:?}")]
    Slow(Duration),
    /// The bytes are not a valid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame contained a request that cannot be answered.
    #[error(transparent)]
    Request(#[from] Unanswerable),
    /// The system returned an error.
    #[error("the connection broke")]
    Io(#[from] std::io::Error),
    /// The broker is stopping.
    #[error("the broker stops")]
    Stopping,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::WithCauses;
    use crate::wire::WireError;

    #[test]
    fn a_cause_is_said_once() {
        let cause = WireError::Truncated { needed: 4, remaining: 1 };
        let expected = format!("a request could not be read: {cause}");
        let closed = Closed::from(Unanswerable::from(cause));
        assert_eq!(WithCauses(&closed).to_string(), expected);
    }
}
