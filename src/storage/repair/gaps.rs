//! The offsets that a repaired segment may lack, and those that it does lack.

use std::ops::Range;

use crate::storage::compacted::Compacted;
use crate::storage::{Log, OffsetUnit, StorageError};
use crate::types::Offset;

/// Offsets without records in a repaired segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The offsets.
    pub(super) offsets: Range<Offset>,
    /// True if the leader has skipped them as damage, and nothing else explains the gap.
    pub(super) is_skipped: bool,
}

/// The gaps of a segment under repair.
#[derive(Debug)]
pub(super) struct Gaps {
    /// The offset below which compaction, on this broker or the leader, may have removed records.
    compacted_below: Offset,
    /// The gaps that the leader has declared, by rising start.
    declared: Vec<Range<Offset>>,
    /// The gaps of the segment, rising.
    found: Vec<Gap>,
}

impl Gaps {
    /// No gaps yet in a segment of `log`.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn of(log: &Log) -> Result<Self, StorageError> {
        let config = log.config();
        let allows_gaps = config.cleanup_policy.compact && config.offset_unit == OffsetUnit::Record;
        let compacted_below =
            if allows_gaps { Offset::new(i64::MAX) } else { compacted(log)?.gaps_below };
        Ok(Self { compacted_below, declared: Vec::new(), found: Vec::new() })
    }

    /// Adds gaps that the leader has declared.
    pub(super) fn declare(&mut self, gaps: impl IntoIterator<Item = Range<Offset>>) {
        self.declared.extend(gaps);
        self.declared.sort_by_key(|gap| gap.start);
    }

    /// The gap at `offsets`, if it is explained: by compaction, by the log start, or by the leader.
    pub(super) fn explain(&self, offsets: Range<Offset>, log_start: Offset) -> Option<Gap> {
        let mut unexplained = offsets.start.max(self.compacted_below).max(log_start);
        let is_skipped = unexplained < offsets.end;
        for declared in self.declared.iter().filter(|declared| !declared.is_empty()) {
            if declared.start <= unexplained {
                unexplained = unexplained.max(declared.end);
            }
        }
        (unexplained >= offsets.end).then_some(Gap { offsets, is_skipped })
    }

    /// Adds gaps that were explained.
    pub(super) fn add(&mut self, gaps: impl IntoIterator<Item = Gap>) {
        self.found.extend(gaps);
    }

    /// Returns true if offsets within a range are skipped.
    pub(super) fn skip_any_of(&self, offsets: &Range<Offset>) -> bool {
        let touches =
            |gap: &Gap| gap.offsets.start < offsets.end && offsets.start < gap.offsets.end;
        self.found.iter().any(|gap| gap.is_skipped && touches(gap))
    }

    /// Records the gaps of a log whose segment that begins at `base` is about to be repaired, so
    /// that they are not taken for damage. Durable on return. The caller holds the segments.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn record(&self, log: &Log, base: Offset) -> Result<(), StorageError> {
        self.skip(log, |gap| gap.is_skipped)?;
        let known = compacted(log)?;
        let gaps_below = self.found.last().map_or(Offset::ZERO, |last| last.offsets.end);
        let noted = Compacted {
            gaps_below: known.gaps_below.max(gaps_below),
            // The leader may still have records that compaction has removed here.
            clean_below: known.clean_below.min(base),
        };
        if noted == known {
            return Ok(());
        }
        let context = log.context();
        noted
            .store(&*context.disk, &context.dir)
            .map_err(|error| context.refused("note the compaction of", error))
    }

    /// Lets readers pass over the damage of a segment of which the leader has no batch left. The
    /// caller holds the segments.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn skip_all(&self, log: &Log) -> Result<(), StorageError> {
        self.skip(log, |_| true)
    }

    fn skip(&self, log: &Log, is_chosen: impl Fn(&Gap) -> bool) -> Result<(), StorageError> {
        let chosen = self.found.iter().filter(|gap| is_chosen(gap));
        let offsets: Vec<_> = chosen.map(|gap| gap.offsets.clone()).collect();
        if offsets.is_empty() {
            return Ok(());
        }
        let context = log.context();
        let stored = context.skips.add(&*context.disk, &context.dir, offsets);
        stored.map_err(|error| context.refused("note the skipped damage of", error))
    }
}

fn compacted(log: &Log) -> Result<Compacted, StorageError> {
    let context = log.context();
    Compacted::load(&*context.disk, &context.dir)
        .map_err(|source| StorageError::read(&context.dir, source))
}
