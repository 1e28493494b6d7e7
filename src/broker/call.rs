//! A request on its way through its handler, and the form of its answer.

use std::rc::Rc;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::context::{Session, Shared};
use crate::broker::coordinator::Groups;
use crate::broker::errors::Refusal;
use crate::net::Piece;
use crate::replication::Partition;
use crate::types::PartitionIndex;
use crate::wire::{ErrorCode, Message, RequestHeader, WireError, encode_response};

/// Why a request gets no answer; the connection is closed instead, as Kafka does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswerable {
    /// The bytes are no request.
    #[error("a request could not be read: {0}")]
    Malformed(#[from] WireError),
    /// The API is not served, or not in this version.
    #[error("{api} version {version} is not served")]
    NotServed {
        /// The API.
        api: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// Records that were to be sent could not be read.
    #[error("records could not be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// A producer that wants no answers made a mistake.
    #[error("a batch sent with acks=0 was refused: {0}")]
    RefusedSilently(String),
}

impl Unanswerable {
    /// The API or its version is not served.
    pub(crate) fn not_served(header: &RequestHeader<'_>) -> Self {
        Self::NotServed { api: header.api_key.name(), version: header.version }
    }
}

/// A request on its way through its handler.
pub(crate) struct Call<'a> {
    /// The broker.
    pub(crate) shared: &'a Arc<Shared>,
    /// The connection.
    pub(crate) session: &'a Rc<Session>,
    /// Version of the request.
    pub(crate) version: i16,
    /// The name the client gave itself.
    pub(crate) client_id: &'a str,
    /// Cancelled when it must not wait any longer, for others or for records.
    pub(crate) patience: &'a CancellationToken,
}

impl Call<'_> {
    /// The groups that this broker coordinates, as this request may ask them.
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups::new(&self.shared.coordinators, &self.shared.engine, self.patience)
    }

    /// A partition whose log was opened, if this client may do that with its topic.
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

    /// Opens the log of a partition that was not used since the start. Should that fail, the log
    /// tells why and the partition answers as one that is not open.
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

/// An answer as one buffer.
pub(crate) fn encode<R: Message>(
    header: &RequestHeader<'_>,
    answer: &R::Response,
) -> Result<Vec<Piece>, Unanswerable> {
    let frame = encode_response::<R>(header.correlation_id, header.version, answer)?;
    Ok(vec![Piece::Bytes(frame.into_bytes())])
}
