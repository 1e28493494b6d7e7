//! The errors of a partition.

use std::sync::Arc;

use crate::storage::{SkipError, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// The reason why a partition refused an operation.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The partition was deleted, or this broker no longer leads it.
    #[error("the partition has stopped: {reason}")]
    Stopped {
        /// The cause, in words.
        reason: &'static str,
    },
    /// The caller's leader epoch is older than the current one.
    #[error("leader epoch {asked} is fenced: the current leader epoch is {current}")]
    FencedEpoch {
        /// The leader epoch that the caller sent.
        asked: LeaderEpoch,
        /// The leader epoch of this partition.
        current: LeaderEpoch,
    },
    /// The caller's leader epoch is newer than the one known to this broker.
    #[error("leader epoch {asked} is unknown: the current leader epoch is {current}")]
    UnknownEpoch {
        /// The leader epoch that the caller sent.
        asked: LeaderEpoch,
        /// The leader epoch of this partition.
        current: LeaderEpoch,
    },
    /// The reader asked for records the log does not hold.
    #[error("offset {wanted} is out of range: the log holds {start}..{end}")]
    OffsetOutOfRange {
        /// The requested offset.
        wanted: i64,
        /// The log start offset.
        start: Offset,
        /// The log end offset.
        end: Offset,
    },
    /// The log could not be opened or created.
    #[error("the partition's log is not open: {reason}")]
    NotOpen {
        /// The error of the last attempt.
        reason: Arc<str>,
    },
    /// Damage is not skipped while another replica can repair it.
    #[error("{others} other replicas are in sync and hold intact copies of the damaged records")]
    Repairable {
        /// The number of other in-sync replicas.
        others: usize,
    },
    /// The damage was not skipped.
    #[error(transparent)]
    Skip(#[from] SkipError),
    /// The log refused the operation.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PartitionError {
    /// Returns whether the disk has logged this error itself.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_logged())
    }
}
