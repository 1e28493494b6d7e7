//! From a frame to the handler of its API, and from what that returns to the pieces of an answer.
//!
//! A new API is a file in `handlers` and a line in the table here.

use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::authorize::{Operation, Resource};
use crate::broker::context::{Session, Shared};
use crate::broker::errors::Refusal;
use crate::broker::handlers::{self, Appends, Taken};
use crate::net::Piece;
use crate::replication::{Partition, PartitionError};
use crate::storage::StorageError;
use crate::types::PartitionIndex;
use crate::wire::{ApiKey, ErrorCode, Message, Reader, RequestHeader, WireError, encode_response};

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
            && !is_logged(&error)
        {
            tracing::error!("{} cannot be opened: {error}", partition.id());
        }
    }
}

macro_rules! apis {
    ($($api:ident => $handler:ident,)*) => {
        /// What is served, but for the three APIs with a path of their own.
        fn in_table() -> [(ApiKey, RangeInclusive<i16>); [$(ApiKey::$api),*].len()] {
            [$((ApiKey::$api, <handlers::$handler::Request as Message>::VERSIONS),)*]
        }

        async fn route(
            call: &Call<'_>,
            header: &RequestHeader<'_>,
            mut body: Reader<'_>,
        ) -> Result<Vec<Piece>, Unanswerable> {
            match header.api_key {
                $(ApiKey::$api => {
                    let request = header.decode_body(&mut body)?;
                    let answer = handlers::$handler::handle(call, request).await;
                    encode::<handlers::$handler::Request>(header, &answer)
                })*
                _ => Err(Unanswerable::not_served(header)),
            }
        }
    };
}

apis! {
    AlterConfigs => alter_configs,
    AlterPartitionReassignments => alter_partition_reassignments,
    CreateAcls => create_acls,
    CreatePartitions => create_partitions,
    CreateTopics => create_topics,
    DeleteAcls => delete_acls,
    DeleteGroups => delete_groups,
    DeleteRecords => delete_records,
    DeleteTopics => delete_topics,
    DescribeAcls => describe_acls,
    DescribeClientQuotas => describe_client_quotas,
    DescribeCluster => describe_cluster,
    DescribeConfigs => describe_configs,
    DescribeGroups => describe_groups,
    DescribeLogDirs => describe_log_dirs,
    DescribeProducers => describe_producers,
    DescribeTopicPartitions => describe_topic_partitions,
    DescribeUserScramCredentials => describe_user_scram_credentials,
    ElectLeaders => elect_leaders,
    FindCoordinator => find_coordinator,
    Heartbeat => heartbeat,
    IncrementalAlterConfigs => incremental_alter_configs,
    InitProducerId => init_producer_id,
    JoinGroup => join_group,
    LeaveGroup => leave_group,
    ListConfigResources => list_config_resources,
    ListGroups => list_groups,
    ListOffsets => list_offsets,
    ListPartitionReassignments => list_partition_reassignments,
    Metadata => metadata,
    OffsetCommit => offset_commit,
    OffsetDelete => offset_delete,
    OffsetFetch => offset_fetch,
    OffsetForLeaderEpoch => offset_for_leader_epoch,
    SyncGroup => sync_group,
}

/// Every API that is served, with what `ApiVersions` says of it.
pub(crate) fn advertised() -> Vec<(ApiKey, RangeInclusive<i16>)> {
    use crate::wire::{api_versions, fetch, produce};
    let mut apis = vec![
        // Clients conclude from version 0 that a broker knows compression; it is not served.
        (ApiKey::Produce, 0..=*produce::ProduceRequest::VERSIONS.end()),
        (ApiKey::Fetch, fetch::FetchRequest::VERSIONS),
        (ApiKey::ApiVersions, api_versions::ApiVersionsRequest::VERSIONS),
    ];
    apis.extend(in_table());
    apis.sort_by_key(|(api, _)| *api);
    apis
}

/// Executes one request and returns its answer, empty where none is expected. Once `patience` is
/// cancelled it waits for nobody any more.
///
/// # Errors
/// When the connection must be closed instead.
pub(crate) async fn execute(
    frame: &mut [u8],
    shared: &Arc<Shared>,
    session: &Rc<Session>,
    patience: &CancellationToken,
) -> Result<Vec<Piece>, Unanswerable> {
    let (header, body) = RequestHeader::decode(frame)?;
    let client_id = header.client_id.unwrap_or_default();
    let call = Call { shared, session, version: header.version, client_id, patience };
    match header.api_key {
        ApiKey::ApiVersions => handlers::api_versions::answer(&call, &header, body),
        ApiKey::Fetch => handlers::fetch::answer(&call, &header, body).await,
        ApiKey::Produce => produce(frame, shared, session).await,
        _ => route(&call, &header, body).await,
    }
}

/// A produce request that could not run ahead.
async fn produce(
    frame: &mut [u8],
    shared: &Arc<Shared>,
    session: &Rc<Session>,
) -> Result<Vec<Piece>, Unanswerable> {
    let mut appends = Appends::new(shared, session);
    if let Taken::NotOpen(frame, partitions) = appends.take(frame)? {
        for partition in partitions {
            lead(partition, shared).await;
        }
        appends.take_opened(frame)?;
    }
    let mut produced = appends.append();
    // It is one request, so this answers it.
    produced.settle_next(shared, session).await;
    Ok(produced.answers()?.map(Piece::Bytes).into_iter().collect())
}

async fn lead(partition: Arc<Partition>, shared: &Arc<Shared>) {
    let name = partition.id().clone();
    match shared.engine.control.run_blocking(move || partition.lead()).await {
        // Upkeep tells of a full disk, once a minute.
        Ok(Ok(()) | Err(PartitionError::Storage(StorageError::OutOfSpace { .. }))) => {}
        Ok(Err(error)) if is_logged(&error) => {}
        Ok(Err(error)) => tracing::error!("{name} cannot be written: {error}"),
        Err(stopping) => tracing::debug!("{name} is not opened: {stopping}"),
    }
}

/// Whether the disk has logged an error itself.
fn is_logged(error: &PartitionError) -> bool {
    matches!(error, PartitionError::Storage(error) if error.is_logged())
}

/// An answer as one buffer.
pub(crate) fn encode<R: Message>(
    header: &RequestHeader<'_>,
    answer: &R::Response,
) -> Result<Vec<Piece>, Unanswerable> {
    let frame = encode_response::<R>(header.correlation_id, header.version, answer)?;
    Ok(vec![Piece::Bytes(frame.into_bytes())])
}

impl Unanswerable {
    /// The API or its version is not served.
    pub(crate) fn not_served(header: &RequestHeader<'_>) -> Self {
        Self::NotServed { api: header.api_key.name(), version: header.version }
    }
}
