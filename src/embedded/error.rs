//! Errors of the embedded engine, and the reaction that each calls for.

use std::path::PathBuf;

use crate::engine::EngineError;
use crate::record::{RecordError, Rejection};
use crate::replication::PartitionError;
use crate::storage::StorageError;
use crate::types::{InvalidTopicName, Offset, TopicPartition};

/// The reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// The call may succeed with another topic name, another offset or a new handle.
    Refresh,
    /// The call will not succeed; other calls are unaffected.
    Reject,
    /// The data directory is unusable until it is opened again.
    Fatal,
}

/// The reason why a call to the embedded engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The data directory cannot be opened.
    #[error("cannot open the data directory '{}'{}", .path.display(), hint(.source))]
    NotOpened {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: EngineError,
    },
    /// A topic could not be created or deleted, or the directory could not be closed cleanly.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The name is not valid for a topic.
    #[error("'{name}' cannot be the name of a topic")]
    InvalidName {
        /// The name.
        name: String,
        /// The rule that it violates.
        source: InvalidTopicName,
    },
    /// The topic does not exist.
    #[error("there is no topic '{topic}': create it with `ensure_topic`")]
    UnknownTopic {
        /// The name.
        topic: String,
    },
    /// The topic has no partition with this index.
    #[error("topic '{topic}' has no partition {index}: it has {count}, numbered from 0")]
    UnknownPartition {
        /// The topic.
        topic: String,
        /// The index.
        index: i32,
        /// The number of partitions.
        count: usize,
    },
    /// The topic is internal; only the engine writes to it.
    #[error("topic '{topic}' is internal: it can only be read")]
    Internal {
        /// The topic.
        topic: String,
    },
    /// An append without records.
    #[error("an append needs at least one record")]
    NoRecords,
    /// The records violate a setting of their topic; nothing was appended.
    #[error("{partition} refuses these records{}", remark(.source))]
    Refused {
        /// The partition.
        partition: TopicPartition,
        /// The violated rule, with its numbers.
        source: RecordError,
    },
    /// The partition could not carry out the call.
    #[error("{partition} cannot do this now")]
    Partition {
        /// The partition.
        partition: TopicPartition,
        /// The cause.
        source: PartitionError,
    },
    /// A batch in the log is damaged; it is not returned.
    #[error("{partition} is damaged at offset {offset}: seek beyond it, or restore the file")]
    Damaged {
        /// The partition.
        partition: TopicPartition,
        /// The base offset of the damaged batch, or the reader's position within it.
        offset: Offset,
        /// The damage.
        source: RecordError,
    },
    /// A batch has unexpected offsets; it is not returned.
    #[error(
        "{partition} continues at offset {found} instead of {expected}: seek beyond it, or \
         restore the file"
    )]
    OutOfOrder {
        /// The partition.
        partition: TopicPartition,
        /// The expected offset.
        expected: Offset,
        /// The batch's base offset.
        found: Offset,
    },
    /// The disk failed: data that was not flushed may be lost.
    #[error("the engine has stopped: {reason}; open the directory again when the cause is gone")]
    Failed {
        /// The failure.
        reason: String,
    },
}

impl EmbeddedError {
    /// The reaction that the error calls for.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Engine(EngineError::NotApplied) => Remedy::Retry,
            Self::Engine(EngineError::Metadata(_))
            | Self::UnknownTopic { .. }
            | Self::UnknownPartition { .. } => Remedy::Refresh,
            Self::NotOpened { .. } | Self::Engine(_) | Self::Failed { .. } => Remedy::Fatal,
            Self::Partition { source, .. } => of_partition(source),
            Self::InvalidName { .. }
            | Self::Internal { .. }
            | Self::NoRecords
            | Self::Refused { .. }
            | Self::Damaged { .. }
            | Self::OutOfOrder { .. } => Remedy::Reject,
        }
    }
}

fn of_partition(error: &PartitionError) -> Remedy {
    match error {
        PartitionError::Storage(StorageError::Io { .. } | StorageError::OutOfSpace { .. })
        | PartitionError::NotOpen { .. } => Remedy::Retry,
        PartitionError::Storage(StorageError::Corrupt { .. })
        | PartitionError::Repairable { .. }
        | PartitionError::Skip(_) => Remedy::Reject,
        PartitionError::Storage(StorageError::Failed { .. }) => Remedy::Fatal,
        _ => Remedy::Refresh,
    }
}

fn hint(source: &EngineError) -> &'static str {
    match source {
        EngineError::Storage(StorageError::Locked { .. }) => {
            ": it is in use; close it there, or connect to the broker that serves it"
        }
        EngineError::Storage(StorageError::Foreign { .. }) => {
            ": it belongs to another broker; set `broker_id` to its id, or use another directory"
        }
        EngineError::Storage(StorageError::TooNew { .. }) => {
            ": it was written by a later release; use that release"
        }
        _ => "",
    }
}

fn remark(source: &RecordError) -> &'static str {
    match source {
        RecordError::TooLarge { .. } => {
            ": append fewer records at a time, or raise its `max.message.bytes`"
        }
        RecordError::Rejected(records) => match records.first().map(|record| record.reason) {
            Some(Rejection::NoKey) => ": it is compacted, so each record needs a key",
            _ => {
                ": their times are outside its `message.timestamp.before.max.ms` and \
                 `...after.max.ms`"
            }
        },
        _ => "",
    }
}
