//! Checking what the log holds, and keeping what is found damaged.

use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::compaction::Compacted;
use crate::storage::log::Log;
use crate::storage::segments::{Chain, Damage, Medium, Segment, SegmentCheck};
use crate::types::Offset;

/// Bytes that are judged between two notes of what was found.
const STRETCH: u64 = 8 << 20;

impl Log {
    /// The damage that was found since the log was opened, in stretches.
    pub fn damage_found(&self) -> u64 {
        self.home.damages.found()
    }

    /// Refuses the offsets of newly found damage from now on, and records it in the `damaged` file.
    /// A disk that cannot take the record now is tried again at the next checkpoint.
    pub(in crate::storage) fn note_damage(&self, found: &[Damage]) {
        let added = found.iter().filter(|damage| self.home.damages.add(**damage));
        let is_new = added.count() > 0;
        if is_new {
            self.store_damages();
        }
    }

    /// Writes the `damaged` file if it lacks something.
    pub(in crate::storage) fn store_damages(&self) {
        let stored = self.home.damages.store(&*self.home.disk, &self.home.dir);
        stored.unwrap_or_else(|error| {
            let dir = self.home.dir.display();
            tracing::error!(%dir, %error, "found damage is remembered in memory only");
        });
    }

    /// The base offsets of its segments, oldest first.
    pub fn segment_bases(&self) -> Vec<Offset> {
        self.segments.load().iter().map(|segment| segment.base()).collect()
    }

    /// A check of the segment that begins at `base`; `None` when there is none any more. Blocks on
    /// the disk. What it finds is to be given to [`Log::note_damage`].
    pub(in crate::storage) fn check_segment(
        &self,
        base: Offset,
        medium: Medium,
    ) -> Result<Option<SegmentCheck>, StorageError> {
        let segments = self.segments.load_full();
        let Some(number) = segments.iter().position(|segment| segment.base() == base) else {
            return Ok(None);
        };
        let chain = self.chain_of(&segments, number)?;
        Ok(Some(SegmentCheck::new(Arc::clone(&segments[number]), chain, medium)))
    }

    /// Checks the segment that begins at `base` and notes its damage. Returns whether there was any
    /// that was not known.
    pub(super) fn check_whole_segment(&self, base: Offset) -> Result<bool, StorageError> {
        let Some(mut check) = self.check_segment(base, Medium::Cache)? else { return Ok(false) };
        let mut has_found = false;
        while !check.is_done() {
            let found = check.advance(check.position() + STRETCH)?;
            has_found |= !found.is_empty();
            self.note_damage(&found);
        }
        Ok(has_found)
    }

    /// The facts that the headers of one of the segments must agree with.
    pub(super) fn chain_of(
        &self,
        segments: &[Arc<Segment>],
        number: usize,
    ) -> Result<Chain, StorageError> {
        let epochs = self.epochs()?;
        let compacted = Compacted::load(&*self.home.disk, &self.home.dir)
            .map_err(|source| StorageError::read(&self.home.dir, source))?;
        let (size, end) = if let Some(next) = segments.get(number + 1) {
            (segments[number].size()?, next.base())
        } else {
            // Appends would move the one between looks at both.
            let tail = self.awake_tail()?;
            (segments[number].size()?, tail.next_offset)
        };
        Ok(Chain { dense_from: compacted.gaps_below, end, size, epochs })
    }
}
