//! The end of a connection.

use std::time::Duration;

use crate::broker::call::Unanswerable;
use crate::net::FrameError;

/// The reason for which a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Closed {
    /// The peer closed it between frames.
    #[error("closed by the peer")]
    ByPeer,
    /// It said nothing for `connections.max.idle.ms`, or what it said did not get on for so long.
    #[error("idle for {0:?}")]
    Idle(Duration),
    /// A request or an answer took longer than `transfer.deadline.ms`.
    #[error("a transfer took longer than {0:?}")]
    Slow(Duration),
    /// The bytes were no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame held no request that can be answered.
    #[error("{0}")]
    Request(#[from] Unanswerable),
    /// The system refused.
    #[error("the connection broke")]
    Io(#[from] std::io::Error),
    /// The broker stops.
    #[error("the broker stops")]
    Stopping,
}
