//! The error of a connection to a broker.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::config::HostPort;
use crate::net::FrameError;
use crate::wire::WireError;

/// The reason why a broker cannot be used. It can be cloned, since all requests of a broken
/// connection fail with the same reason.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{address}: {fault}")]
pub struct LinkError {
    /// The broker's address.
    pub address: HostPort,
    /// The fault.
    pub fault: LinkFault,
}

/// The fault of a connection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkFault {
    /// The connection broke.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// The connection could not be made: refused, or no way to the address.
    #[error("{0}")]
    Unconnected(Arc<io::Error>),
    /// The attempt to connect took longer than the link's configuration allows.
    #[error("no answer")]
    ConnectTimeout,
    /// No bytes arrived for this time while a response was pending.
    #[error("no answer within {0:?}")]
    AnswerTimeout(Duration),
    /// The broker closed the connection.
    #[error("it closed the connection")]
    ClosedByPeer,
    /// The bytes that arrived are not frames.
    #[error("{0}")]
    Frame(Arc<FrameError>),
    /// A response does not belong to the oldest pending request.
    #[error("it sent a response that belongs to no request")]
    UnexpectedResponse,
    /// A response does not have the form that its API requires.
    #[error("its answer to {api} cannot be read: {error}")]
    UnreadableResponse {
        /// The API.
        api: &'static str,
        /// The fault in the bytes.
        error: WireError,
    },
    /// A request cannot be expressed in the negotiated version.
    #[error("{0}")]
    Unwritable(WireError),
    /// No version of an API is supported by both sides.
    #[error("the broker supports {api} in versions {least} to {most}")]
    UnsupportedVersion {
        /// The API.
        api: &'static str,
        /// The lowest version that the broker supports.
        least: i16,
        /// The highest version that the broker supports.
        most: i16,
    },
    /// This side closed the connection.
    #[error("the connection was closed")]
    Closed,
}

impl LinkFault {
    /// Returns true if no connection was made, so that the broker has received nothing.
    pub fn is_unconnected(&self) -> bool {
        matches!(self, Self::Unconnected(_) | Self::ConnectTimeout)
    }

    /// The error of the broker at `address`.
    pub fn of(self, address: &HostPort) -> LinkError {
        LinkError { address: address.clone(), fault: self }
    }
}

impl From<io::Error> for LinkFault {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}
