//! Reads the log of a leader as a consumer does, so that nothing is counted as the position of this
//! replica.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use crate::config::HostPort;
use crate::link::{Connection, Connector, LinkError};
use crate::replica_manager::ReplicaConfig;
use crate::replica_manager::answers::{ask_for_gaps, declared_gaps, declared_size};
use crate::replica_manager::fetch_session::in_request;
use crate::replication::Partition;
use crate::types::{LeaderEpoch, Offset};
use crate::wire::describe_log_dirs::DescribeLogDirsResponse;
use crate::wire::fetch::{Partition as PartitionAnswer, RequestPartition, RequestTopic};
use crate::wire::{ErrorCode, FetchRequest, Records};

/// The session epoch of a fetch without a session.
const WITHOUT_SESSION: i32 = -1;

/// The number of times that a leader is asked again that has not read its log in time.
const REPETITIONS: u32 = 5;

/// The pause before the leader is asked again.
const REPETITION_PAUSE: Duration = Duration::from_millis(500);

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
    #[error("the leader has not read its log from offset {0} on in time")]
    NotAnswered(Offset),
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
        Ok(declared_gaps(&self.describe().await?))
    }

    /// The size of the leader's log in bytes.
    pub(super) async fn size(&self) -> Result<u64, LeaderReadError> {
        Ok(declared_size(&self.describe().await?))
    }

    async fn describe(&self) -> Result<DescribeLogDirsResponse, LeaderReadError> {
        let request = ask_for_gaps([self.partition.id()]);
        let reply = self.connection.submit(&request)?;
        Ok(reply.answer_within(self.config.answer_timeout).await?)
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
        for _ in 0..REPETITIONS {
            match records_of(self.ask(from).await?, from) {
                Err(LeaderReadError::NotAnswered(_)) => sleep(REPETITION_PAUSE).await,
                read => return read,
            }
        }
        records_of(self.ask(from).await?, from)
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

/// The records of an answer. One without any says that there are none only if it names a high
/// watermark from `from` on: a leader that has not read its log in time names none.
fn records_of(row: PartitionAnswer, from: Offset) -> Result<Bytes, LeaderReadError> {
    if row.error_code.is_error() {
        return Err(LeaderReadError::Leader(row.error_code));
    }
    match row.records {
        Records::Bytes(records) if !records.is_empty() => Ok(records),
        _ if row.high_watermark < from.get() => Err(LeaderReadError::NotAnswered(from)),
        _ => Ok(Bytes::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_records_and_high_watermark_does_not_say_that_there_are_none() {
        let read = |high_watermark, records: &'static [u8]| {
            let records = Records::Bytes(Bytes::from_static(records));
            let answer = PartitionAnswer { high_watermark, records, ..PartitionAnswer::default() };
            records_of(answer, Offset::new(7))
        };
        for high_watermark in [-1, 6] {
            let unread = read(high_watermark, b"");
            assert!(matches!(unread, Err(LeaderReadError::NotAnswered(_))), "{unread:?}");
        }
        assert_eq!(read(9, b"").unwrap(), Bytes::new());
        assert_eq!(read(9, b"a batch").unwrap(), Bytes::from_static(b"a batch"));
        let error_code = ErrorCode::NotLeaderOrFollower;
        let refused = records_of(PartitionAnswer { error_code, ..<_>::default() }, Offset::new(7));
        assert!(matches!(refused, Err(LeaderReadError::Leader(_))), "{refused:?}");
    }
}
