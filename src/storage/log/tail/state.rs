//! The operations that a log allows, and the failures that end them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::StorageError;
use crate::types::{Offset, TopicPartition, WithCauses};

/// The operations that a log allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// All, after its files are loaded, which they are not yet.
    NotLoaded,
    /// All.
    Open,
    /// Reads only, after a failure.
    Failed(Failure),
    /// Reads only, after a truncation that failed half-way: only a recovery tells where the log
    /// ends.
    HalfTruncated(Failure),
    /// Reads only: the last segment ends in damage, after which nothing can follow.
    EndsInDamage,
    /// Reads only, after a clean close.
    Closed,
    /// Reads only, for as long as the files exist. Nothing is written any more, not even records
    /// appended before.
    Abandoned,
}

/// The reason for which a log accepts no more records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The error, with its causes.
    cause: Arc<str>,
    is_disk_unknown: bool,
}

/// Damage that makes a whole log unusable.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) first: Offset,
    pub(super) next: Offset,
    pub(super) path: PathBuf,
    pub(super) position: u64,
    /// The time of the next attempt, by the monotonic clock: the files may be restored meanwhile.
    pub(super) until: Duration,
}

impl Failure {
    /// A failure after which only a restart, which runs recovery, makes the log usable.
    pub(super) fn of(error: &StorageError) -> Self {
        let cause = WithCauses(error).to_string().into();
        Self { cause, is_disk_unknown: error.leaves_disk_unknown() }
    }

    /// A failure half-way through an operation, after which the disk's content is unknown.
    pub(super) fn half_way(error: &StorageError) -> Self {
        Self { is_disk_unknown: true, ..Self::of(error) }
    }

    /// Returns true if the disk's content is unknown because of it.
    pub(super) fn is_disk_unknown(&self) -> bool {
        self.is_disk_unknown
    }

    /// The error for operations that would change the log.
    pub(super) fn refusal(&self, partition: &TopicPartition) -> StorageError {
        let Self { cause, is_disk_unknown } = self.clone();
        StorageError::Failed { partition: partition.clone(), cause, is_disk_unknown }
    }
}
