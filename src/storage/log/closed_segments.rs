//! The segments of a log that no longer grow.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::StorageError;
use crate::storage::log::removed_files::RemovedFiles;
use crate::storage::log::tail_lock::TailLock;
use crate::storage::segments::Segment;
use crate::types::{Offset, Timestamp};

/// A segment that no longer grows.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    /// The segment.
    pub(crate) segment: Arc<Segment>,
    /// The offset after its last batch: the base of the next segment.
    pub(crate) next_offset: Offset,
}

/// The closed segments of a log.
#[derive(Clone, Debug)]
pub(crate) struct ClosedSegments {
    /// The segments, oldest first.
    pub(crate) segments: Vec<Closed>,
    /// The number of truncations of the log when the segments were listed.
    pub(crate) generation: u64,
}

/// The segments of a log, as compaction and repair find and replace them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compactable<'log> {
    tail: &'log TailLock,
    removed_files: &'log RemovedFiles,
    claims: &'log Claims,
}

/// The base offsets of the replacements that are being written: two replacements with the same base
/// offset would write to the same files.
#[derive(Debug, Default)]
pub(super) struct Claims {
    bases: Mutex<BTreeSet<Offset>>,
}

impl Claims {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<Offset>> {
        self.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closed {
    /// Returns true if a record may be later than `time`, by its timestamp or the broker's clock.
    pub(in crate::storage) fn has_later_than(&self, time: Timestamp) -> Result<bool, StorageError> {
        let facts = self.segment.facts(self.next_offset)?;
        Ok(facts.sealed_at.max(facts.max_timestamp) > time)
    }

    /// Returns true if the segment has damage: compaction then leaves it as it is.
    pub(in crate::storage) fn is_damaged(&self) -> bool {
        !self.segment.damages().is_empty()
    }

    /// Fails if the segment has damage that the operator has not skipped: nothing is compacted from
    /// there on, because the damage may have held a key's last value.
    pub(in crate::storage) fn require_known_sound(&self) -> Result<(), StorageError> {
        let context = self.segment.context();
        let damages = self.segment.damages();
        let unskipped = damages.iter().find(|damage| !context.is_skipped(damage));
        unskipped.map_or(Ok(()), |damage| Err(context.damaged(damage)))
    }
}

impl<'log> Compactable<'log> {
    /// The segments of the log with this tail.
    pub(super) fn new(
        tail: &'log TailLock,
        removed_files: &'log RemovedFiles,
        claims: &'log Claims,
    ) -> Self {
        Self { tail, removed_files, claims }
    }

    /// The segments that no longer grow, of a log that accepts records.
    pub(in crate::storage) fn closed(self) -> Result<ClosedSegments, StorageError> {
        let tail = self.tail.writable()?;
        let segments = self.tail.segments();
        // Leave out segments with a seal or index still to be written: the write would go to the
        // files of their replacement.
        let closed = segments.windows(2).take_while(|pair| !tail.is_unsealed(&pair[0]));
        let closed = closed.map(|pair| {
            let (segment, next_offset) = (Arc::clone(&pair[0]), pair[1].base());
            Closed { segment, next_offset }
        });
        Ok(ClosedSegments { segments: closed.collect(), generation: tail.generation() })
    }

    /// Reserves the files of a replacement that begins at `base`, until `release`. Returns false if
    /// they are reserved already.
    pub(in crate::storage) fn claim(self, base: Offset) -> bool {
        self.claims.lock().insert(base)
    }

    /// Ends the reservation of the files of a replacement.
    pub(in crate::storage) fn release(self, base: Offset) {
        self.claims.lock().remove(&base);
    }

    /// Prevents other threads from removing or truncating segments while the guard lives.
    pub(in crate::storage) fn hold(self) -> impl Sized {
        self.removed_files.hold()
    }

    /// Returns true if the log accepts records, was not truncated since `generation`, and has all
    /// these segments. The answer holds while the segments are held.
    pub(in crate::storage) fn has(self, closed: &[Closed], generation: u64) -> bool {
        let Ok(tail) = self.tail.writable() else { return false };
        let segments = self.tail.segments();
        let is_there = |closed: &Closed| segments.position_of(&closed.segment).is_some();
        tail.generation() == generation && closed.iter().all(is_there)
    }

    /// Makes readers use `replacement` instead of the `closed` segments, which the caller must
    /// hold.
    pub(in crate::storage) fn replace(self, closed: &[Closed], replacement: Arc<Segment>) {
        let replaced: Vec<_> = closed.iter().map(|closed| Arc::clone(&closed.segment)).collect();
        self.tail.lock().replace(&replaced, replacement);
    }
}
