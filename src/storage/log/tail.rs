//! The end of a log, where it grows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::storage::segments::{HeaderDigests, Indexer, Segment};
use crate::storage::{ProducerStates, StorageError};
use crate::types::{LeaderEpoch, Offset, Timestamp, TopicPartition, WithCauses};

/// What only the holder of the tail's lock may know or change.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) state: State,
    /// The segment that grows; none before the first append.
    pub(super) active: Option<Active>,
    pub(super) next_offset: Offset,
    /// The reign in force.
    pub(super) epoch: LeaderEpoch,
    /// Whether directory and epoch history are durable, so that a record may follow.
    pub(super) is_prepared: bool,
    pub(super) producers: ProducerStates,
    pub(super) pending: Pending,
    /// Segments left since the last flush, oldest first.
    pub(super) dirty: Vec<Arc<Segment>>,
    /// Whether a failed write was cut back and the cut is not durable.
    pub(super) cut_dirty: bool,
    /// Whether the directory has names that are not durable.
    pub(super) names_dirty: bool,
    /// Rises with every cut, so that a flush that began before it publishes nothing.
    pub(super) generation: u64,
    /// Segments left whose seals are not written.
    pub(super) unsealed: Vec<Arc<Segment>>,
    /// Bytes appended since the rebuild point last moved.
    pub(super) bytes_to_rebuild: u64,
    /// Why the files of a log that was closed in order were refused when they were last looked at.
    pub(super) refused: Option<Refused>,
}

/// Damage for which a whole log is refused.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) offsets: (Offset, Offset),
    pub(super) path: PathBuf,
    pub(super) position: u64,
    /// When to look again, by the monotonic clock: the files may be restored meanwhile.
    pub(super) until: Duration,
}

/// What the log can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its files have not been looked at.
    Dormant,
    /// Everything.
    Open,
    /// Reading what is there.
    Failed(Failure),
    /// Reading what is there: the last segment ends in damage, after which nothing can follow.
    EndsInDamage,
    /// Reading what is there.
    Closed,
    /// Reading what is there, for as long as its files are: nothing is written any more, not even
    /// what was appended.
    Abandoned,
}

/// Why a log takes no more records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// What failed, and its causes.
    cause: Arc<str>,
    is_disk_unknown: bool,
}

/// The segment that grows.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    /// Where the next batch goes.
    pub(super) size: u64,
    pub(super) indexer: Indexer,
    /// Of all batches that this process appended, and of those that the last one wrote down.
    pub(super) digests: HeaderDigests,
    /// When its first batch was appended, or the log opened, by the monotonic clock.
    pub(super) began: Duration,
    /// When its last batch was appended, or the log opened, by the wall clock.
    pub(super) last_append: Timestamp,
}

/// What no flush has taken up yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// When the oldest of it was appended, by the monotonic clock; `None` when nothing waits.
    pub(super) since: Option<Duration>,
}

impl Failure {
    /// A failure that leaves a log to be looked through by a restart.
    pub(super) fn of(error: &StorageError) -> Self {
        let cause = WithCauses(error).to_string().into();
        Self { cause, is_disk_unknown: error.leaves_disk_unknown() }
    }

    /// A failure half-way, after which nothing is known of what the disk holds.
    pub(super) fn half_way(error: &StorageError) -> Self {
        Self { is_disk_unknown: true, ..Self::of(error) }
    }

    /// The refusal of whatever would change the log.
    pub(super) fn refusal(&self, partition: &TopicPartition) -> StorageError {
        let Self { cause, is_disk_unknown } = self.clone();
        StorageError::Failed { partition: partition.clone(), cause, is_disk_unknown }
    }
}

impl Pending {
    /// Adds what was appended at `now`.
    pub(super) fn add(&mut self, records: u64, bytes: u64, now: Duration) {
        self.records += records;
        self.bytes += bytes;
        self.since.get_or_insert(now);
    }

    /// Adds what was appended later.
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
            cut_dirty: false,
            names_dirty: false,
            generation: 0,
            unsealed: Vec::new(),
            bytes_to_rebuild: 0,
            refused: None,
        }
    }
}
