//! The states of a log, which decide whether it can change, and the failures that end changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::StorageError;
use crate::types::{Offset, TopicPartition, WithCauses};

/// The readiness of a log for appends and truncations. Reads are possible in every state, and
/// closed segments may still be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Accepts both; the first operation that needs the log's files loads them.
    NotLoaded,
    /// Accepts both.
    Open,
    /// Accepts neither, after a failure, and flushes nothing more.
    Failed(Failure),
    /// Accepts neither and flushes nothing more, after a truncation that failed half-way: only a
    /// recovery tells where the log ends.
    HalfTruncated(Failure),
    /// Accepts neither: the last segment ends in damage, after which nothing can follow until the
    /// damage is skipped. What was appended before is still flushed.
    EndsInDamage,
    /// Accepts neither, after a clean close. What was appended before is still flushed.
    Closed,
    /// Accepts neither, because the topic was deleted: reads are possible while the files exist.
    /// Nothing is written any more, not even records appended before.
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
    /// The failure that this error causes.
    pub(super) fn of(error: &StorageError) -> Self {
        let cause = WithCauses(error).to_string().into();
        Self { cause, is_disk_unknown: error.leaves_disk_unknown() }
    }

    /// A failure half-way through an operation, after which the disk's content is unknown.
    pub(super) fn half_way(error: &StorageError) -> Self {
        Self { is_disk_unknown: true, ..Self::of(error) }
    }

    /// Returns true if the failure leaves the disk's content unknown.
    pub(super) fn is_disk_unknown(&self) -> bool {
        self.is_disk_unknown
    }

    /// The error for operations that would change the log.
    pub(super) fn refusal(&self, partition: &TopicPartition) -> StorageError {
        let Self { cause, is_disk_unknown } = self.clone();
        StorageError::Failed { partition: partition.clone(), cause, is_disk_unknown }
    }
}
