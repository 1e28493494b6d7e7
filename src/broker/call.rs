//! The context of a request in its handler, and the encoding of its response.

use tokio_util::sync::CancellationToken;

use crate::broker::session::Session;
use crate::net::Piece;
use crate::wire::{Message, RequestHeader, WireError, encode_response};

/// The reason why a request gets no response. The connection is closed instead, as in Kafka.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswerable {
    /// The bytes are not a valid request.
    #[error("a request could not be read")]
    Malformed(#[from] WireError),
    /// The API or its version is not supported.
    #[error("{api} version {version} is not served")]
    NotServed {
        /// The API.
        api: &'static str,
        /// The requested version.
        version: i16,
    },
    /// A batch of a producer that wants no responses was refused.
    #[error("a batch sent with acks=0 was refused: {0}")]
    RefusedSilently(String),
}

impl Unanswerable {
    /// Reports that the API or its version is not supported.
    pub(crate) fn not_served(header: &RequestHeader<'_>) -> Self {
        Self::NotServed { api: header.api_key.name(), version: header.version }
    }
}

/// The context of a request in its handler: connection, version, client id and cancellation.
pub(crate) struct Call<'a> {
    /// The connection.
    pub(crate) session: &'a Session,
    /// The version of the request.
    pub(crate) version: i16,
    /// The client id.
    pub(crate) client_id: &'a str,
    /// Cancelled when the request must no longer wait for records or for members of a group.
    pub(crate) cancel: &'a CancellationToken,
}

/// Encodes a response into one buffer.
pub(crate) fn encode<R: Message>(
    header: &RequestHeader<'_>,
    answer: &R::Response,
) -> Result<Vec<Piece>, Unanswerable> {
    let frame = encode_response::<R>(header.correlation_id, header.version, answer)?;
    Ok(vec![Piece::Bytes(frame.into_bytes())])
}
