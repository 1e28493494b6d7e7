//! Reads the log of a leader as a consumer does, so that nothing is counted as the position of this
//! replica.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::config::HostPort;
use crate::link::{Connection, Connector, LinkError};
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::answers::{ask_for_gaps, declared_gaps};
use crate::replica_manager::fetch_session::in_request;
use crate::replication::Partition;
use crate::types::{LeaderEpoch, Offset};
use crate::wire::fetch::{Partition as PartitionAnswer, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest, Records};

/// The session epoch of a fetch without a session.
const WITHOUT_SESSION: i32 = -1;

/// The reason why a leader's records cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaderReadError {
    #[error("the leader has not registered an address for other brokers")]
    NoAddress,
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("the leader answers {0}; its log says why")]
    Leader(ErrorCode),
    #[error("the leader has no records from offset {0} on")]
    NoRecords(Offset),
}

/// A connection to the leader of a partition in one leader epoch.
pub(super) struct LeaderReader {
    connection: Connection,
    partition: Arc<Partition>,
    epoch: LeaderEpoch,
    config: ReplicaConfig,
}

impl LeaderReader {
    /// Connects to the leader of a partition.
    pub(super) async fn connect(
        connector: &Connector,
        leader: Option<&HostPort>,
        partition: &Arc<Partition>,
        config: ReplicaConfig,
    ) -> Result<Self, LeaderReadError> {
        let epoch = partition.epoch();
        let connection = connector.connect(leader.ok_or(LeaderReadError::NoAddress)?).await?;
        Ok(Self { connection, partition: Arc::clone(partition), epoch, config })
    }

    /// The partition.
    pub(super) fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// The leader epoch.
    pub(super) fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// The gaps of the leader's log.
    pub(super) async fn gaps(&self) -> Result<Vec<Range<Offset>>, LeaderReadError> {
        let request = ask_for_gaps([self.partition.id()]);
        let reply = self.connection.submit(&request)?;
        let answer = reply.answer_within(self.config.answer_timeout).await?;
        Ok(declared_gaps(&answer))
    }

    /// The log start offset and the high watermark of the leader.
    pub(super) async fn bounds(&self) -> Result<(Offset, Offset), LeaderReadError> {
        let row = self.ask(self.partition.log_start_offset()).await?;
        let is_outside = row.error_code == ErrorCode::OffsetOutOfRange;
        if row.error_code.is_error() && !is_outside {
            return Err(LeaderReadError::Leader(row.error_code));
        }
        let (start, end) = (row.log_start_offset, row.high_watermark);
        let bounds = Offset::checked(start).zip(Offset::checked(end));
        bounds.ok_or(LeaderReadError::Leader(row.error_code))
    }

    /// The leader's batches from an offset on.
    ///
    /// # Errors
    /// `NoRecords` if there are none, and those of the leader and the connection.
    pub(super) async fn fetch(&self, from: Offset) -> Result<Bytes, LeaderReadError> {
        let records = self.fetch_any(from).await?;
        if records.is_empty() { Err(LeaderReadError::NoRecords(from)) } else { Ok(records) }
    }

    /// The leader's batches from an offset on, if there are any below its high watermark.
    pub(super) async fn fetch_any(&self, from: Offset) -> Result<Bytes, LeaderReadError> {
        let row = self.ask(from).await?;
        if row.error_code.is_error() {
            return Err(LeaderReadError::Leader(row.error_code));
        }
        Ok(match row.records {
            Records::Bytes(records) => records,
            Records::Null | Records::Elsewhere(_) => Bytes::new(),
        })
    }

    async fn ask(&self, from: Offset) -> Result<PartitionAnswer, LeaderReadError> {
        let wanted = RequestPartition {
            partition: self.partition.id().partition.0,
            current_leader_epoch: self.epoch.0,
            fetch_offset: from.get(),
            partition_max_bytes: in_request(self.config.partition_max),
            ..RequestPartition::default()
        };
        let topic = RequestTopic {
            topic_id: self.partition.topic_id(),
            partitions: vec![wanted],
            ..RequestTopic::default()
        };
        let request = FetchRequest {
            max_bytes: in_request(self.config.partition_max),
            session_epoch: WITHOUT_SESSION,
            topics: vec![topic],
            ..FetchRequest::default()
        };
        let reply = self.connection.submit(&request)?;
        let answer = reply.answer_within(self.config.answer_timeout).await?;
        let code = answer.error_code;
        let rows = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        if code.is_error() {
            return Err(LeaderReadError::Leader(code));
        }
        rows.into_iter().next().ok_or(LeaderReadError::NoRecords(from))
    }
}
