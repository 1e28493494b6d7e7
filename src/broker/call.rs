//! The context of a request in its handler, and the encoding of its response.

use std::rc::Rc;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::context::Shared;
use crate::broker::coordinator::Groups;
use crate::broker::errors::Refusal;
use crate::broker::session::Session;
use crate::net::Piece;
use crate::replication::Partition;
use crate::types::PartitionIndex;
use crate::wire::{ErrorCode, Message, RequestHeader, WireError, encode_response};

/// The reason why a request gets no response. The connection is closed instead, as in Kafka.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswerable {
    /// The bytes are not a valid request.
    #[error("a request could not be read: {0}")]
    Malformed(#[from] WireError),
    /// The API or its version is not supported.
    #[error("{api} version {version} is not served")]
    NotServed {
        /// The API.
        api: &'static str,
        /// The requested version.
        version: i16,
    },
    /// Records to be sent could not be read.
    #[error("records could not be read: {0}")]
    Unreadable(#[from] std::io::Error),
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

/// The context of a request in its handler.
pub(crate) struct Call<'a> {
    /// The broker.
    pub(crate) shared: &'a Arc<Shared>,
    /// The connection.
    pub(crate) session: &'a Rc<Session>,
    /// The version of the request.
    pub(crate) version: i16,
    /// The client id.
    pub(crate) client_id: &'a str,
    /// Cancelled when the request must stop waiting, for others or for records.
    pub(crate) cancel: &'a CancellationToken,
}

impl Call<'_> {
    /// Access to the groups that this broker coordinates, on behalf of this request.
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups::new(&self.shared.coordinators, &self.shared.engine, self.cancel)
    }

    /// The partition with its log opened, if this client may perform the operation on its topic.
    pub(crate) async fn partition(
        &self,
        topic: &str,
        index: i32,
        operation: Operation,
    ) -> Result<Arc<Partition>, Refusal> {
        if !self.session.may(operation, Resource::Topic(topic)) {
            return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
        }
        let partition = self.shared.engine.partitions.get(topic, PartitionIndex(index));
        let partition = partition.ok_or_else(|| Refusal::of(ErrorCode::UnknownTopicOrPartition))?;
        self.open(&partition).await;
        Ok(partition)
    }

    /// Opens the log of a partition on first use. If that fails, the error is logged and requests
    /// to the partition report that it is not open.
    pub(crate) async fn open(&self, partition: &Arc<Partition>) {
        if partition.is_open() {
            return;
        }
        let opening = Arc::clone(partition);
        if let Ok(Err(error)) =
            self.shared.engine.control.run_blocking(move || opening.open()).await
            && !error.is_logged()
        {
            tracing::error!("{} cannot be opened: {error}", partition.id());
        }
    }
}

/// Encodes a response into one buffer.
pub(crate) fn encode<R: Message>(
    header: &RequestHeader<'_>,
    answer: &R::Response,
) -> Result<Vec<Piece>, Unanswerable> {
    let frame = encode_response::<R>(header.correlation_id, header.version, answer)?;
    Ok(vec![Piece::Bytes(frame.into_bytes())])
}
