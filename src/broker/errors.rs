//! Mapping of errors of the lower layers to Kafka's error codes and messages. These errors get
//! their codes nowhere else.

use std::fmt;

use crate::engine::{EngineError, Unavailable as Stopping};
use crate::group::{AdminRefusal, GroupError, JoinRefusal, OffsetRefusal, Unavailable};
use crate::metadata::{DecisionRefusal, MetadataError, StoreError};
use crate::record::{RecordError, RejectedRecord, Rejection};
use crate::replication::PartitionError;
use crate::storage::{SequenceError, SkipError, StorageError};
use crate::types::WithCauses;
use crate::wire::ErrorCode;
use crate::wire::produce::RecordError as FaultyRecord;

/// An error in the form in which a client receives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// The error code, for clients.
    pub(crate) code: ErrorCode,
    /// The error message, for people.
    pub(crate) message: Option<String>,
    /// The faulty records, by index within their batch.
    pub(crate) records: Vec<FaultyRecord>,
}

/// The maximum number of records of a batch that get a message of their own. Messages for all
/// records of a large batch would not fit into a response.
const MESSAGES_MAX: usize = 100;

impl Refusal {
    /// Creates a refusal without a message.
    pub(crate) fn of(code: ErrorCode) -> Self {
        Self { code, message: None, records: Vec::new() }
    }

    /// Creates a refusal with the message of its cause.
    pub(crate) fn because(code: ErrorCode, cause: &dyn fmt::Display) -> Self {
        Self { code, message: Some(cause.to_string()), records: Vec::new() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.code.name().unwrap_or("an unnamed code");
        match &self.message {
            Some(message) => write!(f, "{name}: {message}"),
            None => f.write_str(name),
        }
    }
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        let code = match &error {
            // A producer splits the batch on this error, and each part decompresses to less.
            RecordError::TooLarge { .. } | RecordError::Inflated { .. } => {
                ErrorCode::MessageTooLarge
            }
            // Clients retry on this error, which helps if the batch was damaged in transit.
            RecordError::Checksum { .. } | RecordError::Length { .. } => ErrorCode::CorruptMessage,
            RecordError::Magic { .. } => ErrorCode::UnsupportedForMessageFormat,
            RecordError::Rejected(records) if records.iter().any(has_wrong_time) => {
                ErrorCode::InvalidTimestamp
            }
            RecordError::Codec { .. } => ErrorCode::UnsupportedCompressionType,
            _ => ErrorCode::InvalidRecord,
        };
        let records = match &error {
            RecordError::Record { index, .. } => faulty(*index, None).into_iter().collect(),
            RecordError::Rejected(records) => each_faulty(records),
            _ => Vec::new(),
        };
        Self { records, ..Self::because(code, &error) }
    }
}

fn has_wrong_time(record: &RejectedRecord) -> bool {
    matches!(record.reason, Rejection::Timestamp(_))
}

fn each_faulty(records: &[RejectedRecord]) -> Vec<FaultyRecord> {
    let numbered = records.iter().filter_map(|record| Some((record.index?, record)));
    let row = |(row_number, (index, record)): (usize, (u32, &RejectedRecord))| {
        faulty(index, (row_number < MESSAGES_MAX).then(|| record.to_string()))
    };
    numbered.enumerate().filter_map(row).collect()
}

fn faulty(index: u32, message: Option<String>) -> Option<FaultyRecord> {
    Some(FaultyRecord { batch_index: i32::try_from(index).ok()?, message })
}

impl From<&SequenceError> for Refusal {
    fn from(error: &SequenceError) -> Self {
        let code = match error {
            SequenceError::OutOfOrder { .. } => ErrorCode::OutOfOrderSequenceNumber,
            SequenceError::Fenced { .. } => ErrorCode::InvalidProducerEpoch,
        };
        Self::because(code, error)
    }
}

impl From<&StorageError> for Refusal {
    fn from(error: &StorageError) -> Self {
        let code = match error {
            StorageError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            StorageError::Corrupt { .. } => ErrorCode::CorruptMessage,
            StorageError::EpochMismatch { .. } => ErrorCode::NotLeaderOrFollower,
            StorageError::Closed { .. } => ErrorCode::UnknownTopicOrPartition,
            _ => ErrorCode::KafkaStorageError,
        };
        match error {
            // The system's error helps the person who repairs the disk.
            StorageError::Io { .. } => Self::because(code, &WithCauses(error)),
            _ => Self::because(code, error),
        }
    }
}

impl From<MetadataError> for Refusal {
    fn from(error: MetadataError) -> Self {
        let code = match &error {
            // Nobody must take it for a topic that can be used.
            MetadataError::TopicExists { is_left: true, .. } => ErrorCode::InvalidRequest,
            MetadataError::TopicExists { .. } => ErrorCode::TopicAlreadyExists,
            MetadataError::UnknownTopic(_) => ErrorCode::UnknownTopicOrPartition,
            MetadataError::InvalidPartitions { .. } => ErrorCode::InvalidPartitions,
            MetadataError::InvalidReplicationFactor { .. } => ErrorCode::InvalidReplicationFactor,
            MetadataError::InvalidAssignment { .. } => ErrorCode::InvalidReplicaAssignment,
            MetadataError::InvalidConfig(_) => ErrorCode::InvalidConfig,
            MetadataError::Decision(
                DecisionRefusal::StateInForce | DecisionRefusal::Unneeded(_),
            ) => ErrorCode::ElectionNotNeeded,
            MetadataError::Decision(_) => ErrorCode::EligibleLeadersNotAvailable,
            MetadataError::Store(StoreError::Io { .. } | StoreError::Failed { .. }) => {
                ErrorCode::KafkaStorageError
            }
            // Retriable: the store may answer the next request.
            MetadataError::Store(StoreError::Session(_)) => ErrorCode::RequestTimedOut,
            _ => ErrorCode::UnknownServerError,
        };
        Self::because(code, &WithCauses(&error))
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Metadata(error) => error.into(),
            EngineError::Storage(error) => Self::from(&error),
            EngineError::LogsLeft { .. } => Self::because(ErrorCode::InvalidRequest, &error),
            EngineError::NotApplied => Self::because(ErrorCode::RequestTimedOut, &error),
            EngineError::Stopping => Self::because(ErrorCode::BrokerNotAvailable, &error),
            _ => Self::because(ErrorCode::UnknownServerError, &WithCauses(&error)),
        }
    }
}

impl From<Stopping> for Refusal {
    fn from(error: Stopping) -> Self {
        Self::because(ErrorCode::BrokerNotAvailable, &error)
    }
}

impl From<&PartitionError> for Refusal {
    fn from(error: &PartitionError) -> Self {
        let code = match error {
            PartitionError::Stopped { .. } => ErrorCode::UnknownTopicOrPartition,
            PartitionError::NotLeader(_) | PartitionError::EpochEnded { .. } => {
                ErrorCode::NotLeaderOrFollower
            }
            PartitionError::NotEnoughReplicas(_) => ErrorCode::NotEnoughReplicas,
            PartitionError::OffsetNotAvailable(_) => ErrorCode::OffsetNotAvailable,
            PartitionError::NotOpen { .. } => ErrorCode::KafkaStorageError,
            PartitionError::FencedEpoch { .. } => ErrorCode::FencedLeaderEpoch,
            PartitionError::UnknownEpoch { .. } => ErrorCode::UnknownLeaderEpoch,
            PartitionError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            PartitionError::Repairable { .. } => ErrorCode::PolicyViolation,
            PartitionError::Skip(error) => match error {
                SkipError::Storage(error) => return Self::from(error),
                _ => ErrorCode::InvalidRequest,
            },
            PartitionError::Storage(error) => return Self::from(error),
        };
        Self::because(code, error)
    }
}

/// An error that is answered with one code and no message.
pub(crate) trait Coded {
    /// Kafka's code of the error.
    fn error_code(&self) -> ErrorCode;
}

impl Coded for GroupError {
    fn error_code(&self) -> ErrorCode {
        match self {
            GroupError::Unavailable(Unavailable::Loading) => ErrorCode::CoordinatorLoadInProgress,
            GroupError::Unavailable(Unavailable::NotCoordinator) => ErrorCode::NotCoordinator,
            GroupError::Unavailable(Unavailable::NotAvailable) => {
                ErrorCode::CoordinatorNotAvailable
            }
            GroupError::InvalidGroupId(_) => ErrorCode::InvalidGroupId,
            GroupError::UnknownMemberId => ErrorCode::UnknownMemberId,
            GroupError::IllegalGeneration { .. } => ErrorCode::IllegalGeneration,
            GroupError::RebalanceInProgress => ErrorCode::RebalanceInProgress,
            GroupError::FencedInstanceId => ErrorCode::FencedInstanceId,
            GroupError::InconsistentProtocol => ErrorCode::InconsistentGroupProtocol,
            GroupError::TooManyGroups(_) => ErrorCode::PolicyViolation,
            GroupError::OffsetsDamaged => ErrorCode::CorruptMessage,
            GroupError::Join(refusal) => refusal.error_code(),
            GroupError::Admin(AdminRefusal::GroupIdNotFound) => ErrorCode::GroupIdNotFound,
            GroupError::Admin(AdminRefusal::NonEmptyGroup) => ErrorCode::NonEmptyGroup,
        }
    }
}

impl Coded for JoinRefusal {
    fn error_code(&self) -> ErrorCode {
        match self {
            JoinRefusal::MemberIdRequired(_) => ErrorCode::MemberIdRequired,
            JoinRefusal::InvalidSessionTimeout { .. } => ErrorCode::InvalidSessionTimeout,
            JoinRefusal::GroupFull(_) => ErrorCode::GroupMaxSizeReached,
            JoinRefusal::MetadataTooLarge { .. } => ErrorCode::MessageTooLarge,
            JoinRefusal::InvalidInstanceId(_) => ErrorCode::InvalidRequest,
        }
    }
}

impl Coded for OffsetRefusal {
    fn error_code(&self) -> ErrorCode {
        match self {
            OffsetRefusal::MetadataTooLarge { .. } => ErrorCode::OffsetMetadataTooLarge,
            OffsetRefusal::SubscribedToTopic => ErrorCode::GroupSubscribedToTopic,
        }
    }
}
