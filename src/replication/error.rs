//! Why a partition refused.

use std::sync::Arc;

use crate::storage::{SkipError, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// Why a partition did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// It was deleted, or this broker leads it no more.
    #[error("the partition has stopped: {reason}")]
    Stopped {
        /// Why.
        reason: &'static str,
    },
    /// The caller knows an older leader than the one that reigns.
    #[error("epoch {asked} has ended; epoch {current} reigns")]
    FencedEpoch {
        /// What the caller said.
        asked: LeaderEpoch,
        /// What is true here.
        current: LeaderEpoch,
    },
    /// The caller knows a newer leader than this broker does.
    #[error("epoch {asked} is not known here yet; epoch {current} reigns")]
    UnknownEpoch {
        /// What the caller said.
        asked: LeaderEpoch,
        /// What is true here.
        current: LeaderEpoch,
    },
    /// The reader asked for records the log does not hold.
    #[error("offset {wanted} is outside {start}..{end}")]
    OffsetOutOfRange {
        /// What was asked for.
        wanted: i64,
        /// The first offset there is.
        start: Offset,
        /// The offset after the last.
        end: Offset,
    },
    /// Its log could not be opened or made.
    #[error("the partition's log is not open: {reason}")]
    NotOpen {
        /// The error of the last attempt.
        reason: Arc<str>,
    },
    /// Damage is not given up that another replica can repair.
    #[error("{others} other replicas are in sync and have what is damaged here")]
    Repairable {
        /// So many.
        others: usize,
    },
    /// Damage was not skipped.
    #[error(transparent)]
    Skip(#[from] SkipError),
    /// The log refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PartitionError {
    /// Returns whether the disk has logged this error itself.
    pub fn is_logged(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_logged())
    }
}
