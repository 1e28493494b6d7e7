//! The end of a log, where records are appended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::segments::{HeaderDigests, Indexer, Segment};
use crate::storage::{ProducerStates, StorageError};
use crate::types::{LeaderEpoch, Offset, Timestamp, TopicPartition, WithCauses};

/// The state protected by the tail's lock.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) state: State,
    /// The active segment; `None` before the first append.
    pub(super) active: Option<Active>,
    pub(super) next_offset: Offset,
    /// The current leader epoch.
    pub(super) epoch: LeaderEpoch,
    /// True if the directory and the epoch history are durable, so that a record may follow.
    pub(super) is_prepared: bool,
    pub(super) producers: ProducerStates,
    pub(super) pending: Pending,
    /// Segments rolled since the last flush, oldest first.
    pub(super) dirty: Vec<Arc<Segment>>,
    /// True if a failed write was truncated and the truncation is not durable.
    pub(super) truncation_dirty: bool,
    /// True if the directory has names that are not durable.
    pub(super) names_dirty: bool,
    /// Incremented by every truncation, so that a flush that began before it publishes nothing.
    pub(super) generation: u64,
    /// Rolled segments without a written seal.
    pub(super) unsealed: Vec<Arc<Segment>>,
    /// Bytes appended since the rebuild point last advanced.
    pub(super) bytes_to_rebuild: u64,
    /// The last failure to load the files of a log that was closed cleanly.
    pub(super) refused: Option<Refused>,
}

/// Damage that makes a whole log unusable.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) offsets: (Offset, Offset),
    pub(super) path: PathBuf,
    pub(super) position: u64,
    /// The time of the next attempt, by the monotonic clock: the files may be restored meanwhile.
    pub(super) until: Duration,
}

/// The operations that a log allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// All, after its files are loaded, which they are not yet.
    NotLoaded,
    /// All.
    Open,
    /// Reads only, after a failure.
    Failed(Failure),
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

/// The active segment.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    /// The position of the next batch.
    pub(super) size: u64,
    pub(super) indexer: Indexer,
    /// The digests of all batches, including those that an earlier process has stored.
    pub(super) digests: HeaderDigests,
    /// The time of its first append, or of opening the log, by the monotonic clock.
    pub(super) began: Duration,
    /// The time of its last append, or of opening the log, by the wall clock.
    pub(super) last_append: Timestamp,
}

/// The records that no flush has taken over yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// The time of the oldest append among them, by the monotonic clock; `None` if there are none.
    pub(super) since: Option<Duration>,
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

    /// The error for operations that would change the log.
    pub(super) fn refusal(&self, partition: &TopicPartition) -> StorageError {
        let Self { cause, is_disk_unknown } = self.clone();
        StorageError::Failed { partition: partition.clone(), cause, is_disk_unknown }
    }
}

impl Pending {
    /// Adds records appended at `now`.
    pub(super) fn add(&mut self, records: u64, bytes: u64, now: Duration) {
        self.records += records;
        self.bytes += bytes;
        self.since.get_or_insert(now);
    }

    /// Adds records appended later.
    pub(super) fn followed_by(self, later: Self) -> Self {
        Self {
            records: self.records + later.records,
            bytes: self.bytes + later.bytes,
            since: self.since.or(later.since),
        }
    }
}

impl Tail {
    /// The tail of a log that ends at `next_offset`.
    pub(super) fn new(state: State, next_offset: Offset, producers: ProducerStates) -> Self {
        Self {
            state,
            active: None,
            next_offset,
            epoch: LeaderEpoch::NONE,
            is_prepared: false,
            producers,
            pending: Pending::default(),
            dirty: Vec::new(),
            truncation_dirty: false,
            names_dirty: false,
            generation: 0,
            unsealed: Vec::new(),
            bytes_to_rebuild: 0,
            refused: None,
        }
    }
}
