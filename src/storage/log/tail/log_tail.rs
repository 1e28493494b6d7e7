//! The tail itself: the operations that it allows, and the hand-over of its changes to flushes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::storage::log::tail::active::Active;
use crate::storage::log::tail::state::{Failure, Refused, State};
use crate::storage::log::tail::unrecorded::Unrecorded;
use crate::storage::log::tail::unsynced::{Unflushed, Unsynced};
use crate::storage::log::tail::view::View;
use crate::storage::segments::Segment;
use crate::storage::{ActiveProducer, ProducerStates, StorageError};
use crate::types::{LeaderEpoch, Offset, ProducerId};

/// The end of a log, protected by its lock; the only writer of the log's view.
#[derive(Debug)]
pub(in crate::storage::log) struct Tail {
    pub(super) view: Arc<View>,
    pub(super) state: State,
    /// The active segment; `None` before the first append, while the log is not loaded, and while
    /// it ends in damage.
    pub(super) active: Option<Active>,
    pub(super) next_offset: Offset,
    /// The current leader epoch.
    epoch: LeaderEpoch,
    /// True if the directory and the epoch history are durable, so that a record may follow.
    is_prepared: bool,
    pub(super) producers: ProducerStates,
    pub(super) unsynced: Unsynced,
    /// Incremented by every truncation, so that a flush that began before it publishes nothing.
    pub(super) generation: u64,
    pub(super) unrecorded: Unrecorded,
    /// The last failure to load the files of a log that was closed cleanly.
    pub(super) refused: Option<Refused>,
}

impl Tail {
    /// The tail of a log whose files are not loaded yet.
    pub(in crate::storage::log) fn not_loaded(view: Arc<View>) -> Self {
        Self {
            state: State::NotLoaded,
            active: None,
            next_offset: view.offsets.log_end(),
            epoch: LeaderEpoch::NONE,
            is_prepared: false,
            producers: ProducerStates::new(view.context.producers),
            unsynced: Unsynced::default(),
            generation: 0,
            unrecorded: Unrecorded::default(),
            refused: None,
            view,
        }
    }

    /// The offset that the next record will have.
    pub(in crate::storage::log) fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// The number of truncations so far.
    pub(in crate::storage::log) fn generation(&self) -> u64 {
        self.generation
    }

    /// The active segment; `None` before the first append, while the log is not loaded, and while
    /// it ends in damage.
    pub(in crate::storage::log) fn active_segment(&self) -> Option<&Arc<Segment>> {
        self.active.as_ref().map(|active| &active.segment)
    }

    /// The state of a segment, if it is the active one.
    pub(in crate::storage::log) fn active(&self, segment: &Arc<Segment>) -> Option<&Active> {
        self.active.as_ref().filter(|active| active.is(segment))
    }

    /// Returns true once the log's files are loaded.
    pub(in crate::storage::log) fn is_loaded(&self) -> bool {
        self.state != State::NotLoaded
    }

    /// Returns true if the topic was deleted.
    pub(in crate::storage::log) fn is_abandoned(&self) -> bool {
        self.state == State::Abandoned
    }

    /// Fails unless the log accepts records.
    pub(in crate::storage::log) fn require_writable(&self) -> Result<(), StorageError> {
        let context = &self.view.context;
        match &self.state {
            State::NotLoaded | State::Open => Ok(()),
            State::Failed(failure) | State::HalfTruncated(failure) => {
                Err(failure.refusal(&context.partition))
            }
            State::EndsInDamage => Err(self.last_damage()),
            State::Closed | State::Abandoned => {
                Err(StorageError::Closed { partition: context.partition.clone() })
            }
        }
    }

    fn last_damage(&self) -> StorageError {
        let context = &self.view.context;
        let segments = self.view.segments.snapshot();
        match segments.last().and_then(|last| last.damages().pop()) {
            Some(damage) => context.damaged(&damage),
            None => context.corrupt(self.next_offset..self.next_offset, &context.dir, 0),
        }
    }

    /// Makes the log fail because of `cause`.
    pub(in crate::storage::log) fn fail(&mut self, cause: &StorageError) {
        let failure = Failure::of(cause);
        let is_worse = match &self.state {
            State::Failed(_) | State::Abandoned => false,
            // A recovery must not take bytes for durable that a failed sync has left in the page
            // cache.
            State::HalfTruncated(_) => failure.is_disk_unknown(),
            _ => true,
        };
        if is_worse {
            self.state = State::Failed(failure);
        }
    }

    /// Makes the log wait for its recovery, because a truncation of it failed half-way.
    pub(in crate::storage::log) fn fail_truncation(&mut self, cause: &StorageError) {
        self.state = State::HalfTruncated(Failure::of(cause));
    }

    /// Returns true if a truncation failed half-way.
    pub(in crate::storage::log) fn is_half_truncated(&self) -> bool {
        matches!(self.state, State::HalfTruncated(_))
    }

    /// Returns true if a recovery makes the log usable again: a truncation failed half-way, but no
    /// sync failed.
    pub(in crate::storage::log) fn is_recoverable(&self) -> bool {
        matches!(&self.state, State::HalfTruncated(failure) if !failure.is_disk_unknown())
    }

    /// Makes the log fail half-way through an operation, after which the disk's content is unknown.
    pub(in crate::storage::log) fn fail_half_way(&mut self, cause: &StorageError) {
        self.state = State::Failed(Failure::half_way(cause));
    }

    /// Accepts no more records, as after a clean close; returns true if the log was open.
    pub(in crate::storage::log) fn close(&mut self) -> bool {
        let was_open = self.state == State::Open;
        if matches!(self.state, State::Open | State::NotLoaded) {
            self.state = State::Closed;
        }
        was_open
    }

    /// Ends the log of a deleted topic: unflushed records stay unflushed.
    pub(in crate::storage::log) fn abandon(&mut self) {
        self.state = State::Abandoned;
        self.unsynced.forget_records();
    }
}

/// Leader epochs.
impl Tail {
    /// The current leader epoch.
    pub(in crate::storage::log) fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// Starts a leader epoch. Its first record must wait until the epoch is durable.
    pub(in crate::storage::log) fn start_epoch(&mut self, epoch: LeaderEpoch) {
        self.epoch = epoch;
        self.is_prepared = false;
    }

    /// Fails unless the log is in this leader epoch.
    pub(in crate::storage::log) fn require_epoch(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<(), StorageError> {
        if epoch == LeaderEpoch::NONE || self.epoch != epoch {
            let partition = self.view.context.partition.clone();
            let (given, current) = (epoch, self.epoch);
            return Err(StorageError::EpochMismatch { partition, given, current });
        }
        Ok(())
    }

    /// Returns true if the directory and the epoch history are durable, so that a record may
    /// follow.
    pub(in crate::storage::log) fn is_prepared(&self) -> bool {
        self.is_prepared
    }

    /// Notes the latest epoch that is durable in the history. Another epoch may have started since
    /// it was stored.
    pub(in crate::storage::log) fn note_stored_epoch(&mut self, stored: Option<LeaderEpoch>) {
        self.is_prepared = stored == Some(self.epoch);
    }
}

/// Flushes.
impl Tail {
    /// Takes over the changes that a flush has to make durable; `None` if there are none.
    pub(in crate::storage::log) fn begin_flush(
        &mut self,
    ) -> Result<Option<Unsynced>, StorageError> {
        match &self.state {
            State::Failed(failure) => return Err(failure.refusal(&self.view.context.partition)),
            State::HalfTruncated(failure) if failure.is_disk_unknown() => {
                return Err(failure.refusal(&self.view.context.partition));
            }
            // Either the topic is deleted and its files may be gone, or a recovery will sync the
            // remaining bytes.
            State::Abandoned | State::HalfTruncated(_) => {
                self.unsynced.forget_records();
                return Ok(None);
            }
            _ => {}
        }
        // Without new records, a new name or a truncation may still have to be synced.
        let has_records = self.next_offset != self.view.offsets.flushed();
        let is_due = has_records || self.unsynced.has_more_than_records();
        Ok(is_due.then(|| std::mem::take(&mut self.unsynced)))
    }

    /// Takes back the changes of a flush whose sync could not be tried.
    pub(in crate::storage::log) fn take_back(&mut self, unsynced: Unsynced, generation: u64) {
        // A truncation has marked the remaining segments as unsynced again.
        if self.generation == generation {
            let active = self.active.as_ref().map(|active| &active.segment);
            self.unsynced.take_back(unsynced, active);
        }
    }

    /// Publishes the flushed offset of a flush that began at `generation`. Returns false if the log
    /// was truncated meanwhile: other records may be below the offset now.
    pub(in crate::storage::log) fn publish_flushed(&self, target: Offset, generation: u64) -> bool {
        if self.generation != generation {
            return false;
        }
        let before = self.view.offsets.flushed();
        assert!(
            before <= target && target <= self.next_offset,
            "a flush to {target} of a log flushed to {before} and ending at {}",
            self.next_offset
        );
        self.view.offsets.set_flushed(target);
        true
    }

    /// The records that wait for a flush to begin; `None` if there are none.
    pub(in crate::storage::log) fn unflushed(&self) -> Option<Unflushed> {
        self.unsynced.unflushed(&self.view.context.config.load())
    }
}

/// Removal and replacement of closed segments.
impl Tail {
    /// Returns true if the segment was rolled and its seal is not written yet.
    pub(in crate::storage::log) fn is_unsealed(&self, segment: &Arc<Segment>) -> bool {
        self.unrecorded.has(segment)
    }

    /// Renames the files of the first segment and advances the log start to `end`, its end; or does
    /// neither. Returns the new names. The caller holds the lock from the first rename until the
    /// new list is published: a reader that finds a name gone waits for the lock.
    pub(in crate::storage::log) fn unlink_first(
        &mut self,
        segment: &Arc<Segment>,
        end: Offset,
    ) -> Result<Vec<PathBuf>, StorageError> {
        let names = segment.delete()?;
        // References in these lists would keep the segment's files open, and their space allocated.
        self.unrecorded.forget_segment(segment);
        self.unsynced.forget_segment(segment);
        self.view.offsets.advance_start(end);
        self.view.segments.remove_first(segment);
        Ok(names)
    }

    /// Advances the log start to `to`, if it is lower; returns the new start.
    pub(in crate::storage::log) fn advance_start(&mut self, to: Offset) -> Offset {
        self.view.offsets.advance_start(to)
    }

    /// Makes readers use `replacement` instead of neighbouring segments.
    pub(in crate::storage::log) fn replace(
        &mut self,
        replaced: &[Arc<Segment>],
        replacement: Arc<Segment>,
    ) {
        self.view.segments.replace(replaced, replacement);
    }
}

/// Idempotent producers.
impl Tail {
    /// Removes the producers that have been inactive for too long.
    pub(in crate::storage::log) fn expire_producers(&mut self) {
        self.producers.expire(self.view.context.clock.monotonic());
    }

    /// The producers of which the log keeps state.
    pub(in crate::storage::log) fn active_producers(&self) -> Vec<ActiveProducer> {
        self.producers.active(self.view.context.clock.monotonic())
    }

    /// The last offset of every producer of which the log keeps state.
    pub(in crate::storage::log) fn last_offsets_of_producers(&self) -> HashMap<ProducerId, Offset> {
        self.producers.last_offsets()
    }
}
