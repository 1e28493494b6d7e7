//! The segments of a log that no longer grow.

use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::segments::{FileKind, Segment};
use crate::types::{Offset, Timestamp};

/// A segment that no longer grows.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    /// The segment.
    pub(crate) segment: Arc<Segment>,
    /// The offset after its last.
    pub(crate) next_offset: Offset,
}

/// The closed segments of a log.
#[derive(Clone, Debug)]
pub(crate) struct ClosedSegments {
    /// Oldest first.
    pub(crate) segments: Vec<Closed>,
    /// The number of truncations of the log when they were listed.
    pub(crate) generation: u64,
}

impl Closed {
    /// Returns true if a record may be later than `time`, by its timestamp or the broker's clock.
    pub(in crate::storage) fn has_later_than(&self, time: Timestamp) -> Result<bool, StorageError> {
        let facts = self.segment.facts(self.next_offset)?;
        Ok(facts.sealed_at.max(facts.max_timestamp) > time)
    }

    /// Returns true if it has damage: it then stays as it is.
    pub(in crate::storage) fn is_damaged(&self) -> bool {
        !self.segment.damages().is_empty()
    }

    /// Fails if it has damage that the operator has not skipped: nothing is compacted from there
    /// on, because the damage may have held a key's last value.
    pub(in crate::storage) fn require_known_sound(&self) -> Result<(), StorageError> {
        let context = self.segment.context();
        let damages = self.segment.damages();
        let Some(damage) = damages.iter().find(|damage| !context.is_skipped(damage)) else {
            return Ok(());
        };
        let path = self.segment.path(FileKind::Log);
        Err(context.corrupt((damage.first, damage.next), (&path, damage.start)))
    }
}
