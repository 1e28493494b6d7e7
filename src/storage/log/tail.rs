//! The end of a log, where it grows.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::ProducerStates;
use crate::storage::segments::{Indexer, Segment};
use crate::types::{LeaderEpoch, Offset, Timestamp};

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
}

/// What the log can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its files have not been looked at.
    Dormant,
    /// Everything.
    Open,
    /// Reading what is there. The text says what failed.
    Failed(Arc<str>),
    /// Reading what is there: the last segment ends in damage, after which nothing can follow.
    EndsInDamage,
    /// Reading what is there.
    Closed,
    /// Reading what is there, for as long as its files are: nothing is written any more, not even
    /// what was appended.
    Abandoned,
}

/// The segment that grows.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) segment: Arc<Segment>,
    /// Where the next batch goes.
    pub(super) size: u64,
    pub(super) indexer: Indexer,
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

impl Pending {
    /// Adds what was appended at `now`.
    pub(super) fn add(&mut self, records: u64, bytes: u64, now: Duration) {
        self.records += records;
        self.bytes += bytes;
        self.since.get_or_insert(now);
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
        }
    }
}
