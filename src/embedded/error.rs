//! What can go wrong when the engine is embedded: what happened, and what to do about it.

use std::path::PathBuf;

use crate::engine::EngineError;
use crate::record::{RecordError, Rejection};
use crate::replication::PartitionError;
use crate::storage::StorageError;
use crate::types::{InvalidTopicName, Offset, TopicPartition};

/// What a caller may do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may succeed later.
    Retry,
    /// It may succeed with newer knowledge: another name, another offset, a new handle.
    Refresh,
    /// It will not succeed; everything else goes on.
    Reject,
    /// The data directory is of no more use until it is opened again.
    Fatal,
}

/// Why an embedded engine did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The data directory cannot be opened.
    #[error("cannot open the data directory '{}'{}", .path.display(), hint(.source))]
    NotOpened {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: EngineError,
    },
    /// A topic could not be made or removed, or the directory not be closed in order.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No topic can have this name.
    #[error("'{name}' cannot be the name of a topic")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        source: InvalidTopicName,
    },
    /// There is no such topic.
    #[error("there is no topic '{topic}': make it with `ensure_topic`")]
    UnknownTopic {
        /// The name.
        topic: String,
    },
    /// The topic has no partition of this number.
    #[error("topic '{topic}' has no partition {index}: it has {count}, numbered from 0")]
    UnknownPartition {
        /// The topic.
        topic: String,
        /// The number.
        index: i32,
        /// How many it has.
        count: usize,
    },
    /// The topic belongs to the engine, which alone writes to it.
    #[error("topic '{topic}' is the engine's own: it can be read, and nothing else")]
    Internal {
        /// The topic.
        topic: String,
    },
    /// An append without records.
    #[error("an append needs at least one record")]
    NoRecords,
    /// The records break a rule of their topic; nothing was appended.
    #[error("{partition} does not take these records{}", remark(.source))]
    Refused {
        /// Whose rules they are.
        partition: TopicPartition,
        /// Which one, with its numbers.
        source: RecordError,
    },
    /// The partition did not do it.
    #[error("{partition} cannot do this now")]
    Partition {
        /// Which one.
        partition: TopicPartition,
        /// Why not.
        source: PartitionError,
    },
    /// What the log holds is not what was written; it is not given out.
    #[error("{partition} is damaged at offset {offset}: seek beyond it, or restore the file")]
    Damaged {
        /// Which partition.
        partition: TopicPartition,
        /// Where the batch at fault begins, or the position within it.
        offset: Offset,
        /// What is wrong.
        source: RecordError,
    },
    /// The batch that was read is not the one that comes next; it is not given out.
    #[error(
        "{partition} goes on at offset {found} where {expected} comes next: seek beyond it, or \
         restore the file"
    )]
    OutOfOrder {
        /// Which partition.
        partition: TopicPartition,
        /// The offset that comes next.
        expected: Offset,
        /// Where the batch begins.
        found: Offset,
    },
    /// The disk failed: nothing unflushed can be trusted.
    #[error("the engine has stopped: {reason}; open the directory again when the cause is gone")]
    Failed {
        /// What failed.
        reason: String,
    },
}

impl EmbeddedError {
    /// What a caller may do about it.
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
            ": it is somebody else's; set `broker_id` to its owner's, or take another directory"
        }
        EngineError::Storage(StorageError::TooNew { .. }) => {
            ": a later release has written it; use that one"
        }
        _ => "",
    }
}

fn remark(source: &RecordError) -> &'static str {
    match source {
        RecordError::TooLarge { .. } => {
            ": append fewer at a time, or let its `max.message.bytes` be larger"
        }
        RecordError::Rejected(records) => match records.first().map(|record| record.reason) {
            Some(Rejection::NoKey) => ": it is compacted, so that each needs a key",
            _ => {
                ": their times are outside its `message.timestamp.before.max.ms` and \
                 `...after.max.ms`"
            }
        },
        _ => "",
    }
}
