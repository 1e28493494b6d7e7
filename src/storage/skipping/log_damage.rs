//! The damage of a log: finding it, skipping it, and the gaps that result.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::storage::compacted::Compacted;
use crate::storage::segments::{Damage, FileKind, Medium, Segment};
use crate::storage::skipping::copy::copy;
use crate::storage::{Log, SkipError, StorageError};
use crate::types::Offset;

/// The number of bytes of a segment that are checked at a time; the findings are recorded after
/// each.
const STRETCH: u64 = 8 << 20;

/// A damaged stretch of a log, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedStretch {
    /// Its offsets and its positions.
    pub damage: Damage,
    /// The segment's file.
    pub path: PathBuf,
    /// True if readers pass over it.
    pub is_skipped: bool,
}

/// A damaged stretch that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedStretch {
    /// Its offsets and its positions.
    pub damage: Damage,
    /// The copy of its bytes; `None` if the file had lost them.
    pub copy: Option<PathBuf>,
    /// The number of bytes of the copy that are zeros because the disk did not return them.
    pub unreadable: u64,
}

/// The damage of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogDamage<'log> {
    log: &'log Log,
}

impl<'log> LogDamage<'log> {
    /// The damage of `log`.
    pub fn of(log: &'log Log) -> Self {
        Self { log }
    }

    /// The damaged stretches at or above the log's start, in their order. Segments that are lost
    /// between others are found by this call.
    ///
    /// # Errors
    /// If the log cannot be loaded, or a segment before a lost one cannot be read.
    pub fn stretches(self) -> Result<Vec<DamagedStretch>, StorageError> {
        self.log.tail().ensure_loaded()?;
        self.find_lost_segments()?;
        self.known_stretches()
    }

    fn known_stretches(self) -> Result<Vec<DamagedStretch>, StorageError> {
        self.log.tail().ensure_loaded()?;
        let start = self.log.log_start_offset();
        let segments = self.log.segments();
        let of = |segment: &Arc<Segment>| {
            let stretches = segment.damages().into_iter().map(|damage| DamagedStretch {
                path: segment.path(FileKind::Log),
                is_skipped: self.log.context().is_skipped(&damage),
                damage,
            });
            stretches.collect::<Vec<_>>()
        };
        let all = segments.iter().flat_map(of);
        let mut readable: Vec<_> = all.filter(|stretch| stretch.damage.next > start).collect();
        readable.sort_by_key(|stretch| (stretch.damage.first, stretch.damage.start));
        Ok(readable)
    }

    /// Checks each segment that ends before the next one begins, so that the damage is known.
    fn find_lost_segments(self) -> Result<(), StorageError> {
        let context = self.log.context();
        let compacted = Compacted::load(&*context.disk, &context.dir)
            .map_err(|source| StorageError::read(&context.dir, source))?;
        for pair in self.log.segments().windows(2) {
            let (segment, next) = (&pair[0], pair[1].base());
            // Compaction may have removed the last batches.
            if next <= compacted.gaps_below {
                continue;
            }
            // An error shows damage on the way that is known, or that readers will meet.
            let last = Offset::new(next.get() - 1);
            if segment.locate(last).is_ok_and(|batch| batch.is_none()) {
                self.check_around(segment.base())?;
            }
        }
        Ok(())
    }

    /// The offset ranges that may legitimately lack records, by rising start: those that compaction
    /// has processed, and damage that the operator has skipped.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn gaps(self) -> Result<Vec<Range<Offset>>, StorageError> {
        let context = self.log.context();
        let compacted = Compacted::load(&*context.disk, &context.dir)
            .map_err(|source| StorageError::read(&context.dir, source))?;
        let mut gaps = vec![Offset::ZERO..compacted.gaps_below];
        let skipped = self.known_stretches()?.into_iter().filter(|stretch| stretch.is_skipped);
        gaps.extend(skipped.map(|stretch| stretch.damage.first..stretch.damage.next));
        gaps.retain(|gap| !gap.is_empty());
        Ok(gaps)
    }

    /// Checks the segment that contains an offset, so that its damage is known. Reads the whole
    /// segment.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn check_around(self, offset: Offset) -> Result<(), StorageError> {
        let checks = self.log.checks();
        let bases = checks.segment_bases();
        let number = bases.partition_point(|base| *base <= offset).saturating_sub(1);
        let Some(base) = bases.get(number) else { return Ok(()) };
        let Some(mut check) = checks.check_segment(*base, Medium::Cache)? else { return Ok(()) };
        while !check.is_done() {
            let found = check.advance(check.position() + STRETCH)?;
            if !checks.record(&check, &found) {
                break;
            }
        }
        Ok(())
    }

    /// Lets readers pass over the damaged stretches within `offsets`. Before anything else changes,
    /// their bytes are copied and `record` is called with them. Sound records stay readable.
    pub(in crate::storage) fn skip(
        self,
        offsets: Range<Offset>,
        record: impl FnOnce(&[SkippedStretch]) -> Result<(), StorageError>,
    ) -> Result<Vec<SkippedStretch>, SkipError> {
        let damages = self.plan_skip(offsets)?;
        // Holding the segments keeps retention and compaction from removing the files meanwhile.
        let _segments = self.log.compactable().hold();
        let skipped = damages.iter().map(|damage| self.keep_copy(damage));
        let skipped: Vec<_> = skipped.collect::<Result<_, _>>()?;
        record(&skipped)?;
        let context = self.log.context();
        let offsets = damages.iter().map(|damage| damage.first..damage.next);
        let stored = context.skips.add(&*context.disk, &context.dir, offsets);
        stored.map_err(|error| context.refused("note the skipped damage of", error))?;
        self.log.tail().resume_after_damage()?;
        Ok(skipped)
    }

    /// The stretches to skip: all within `offsets`, which must hold at least one and cut through
    /// none.
    fn plan_skip(self, offsets: Range<Offset>) -> Result<Vec<Damage>, SkipError> {
        let Range { start: from, end: to } = offsets;
        let partition = || self.log.partition().clone();
        if from >= to {
            return Err(SkipError::EmptyRange { partition: partition(), from, to });
        }
        let known = self.stretches()?.into_iter();
        let known = known.filter(|stretch| !stretch.is_skipped).map(|stretch| stretch.damage);
        let known: Vec<Damage> = known.filter(|damage| damage.first < damage.next).collect();
        let touched = known.iter().filter(|damage| damage.first < to && damage.next > from);
        let touched: Vec<Damage> = touched.copied().collect();
        if touched.is_empty() {
            let damaged = known.iter().map(|damage| (damage.first, damage.next)).collect();
            return Err(SkipError::NoDamage { partition: partition(), from, to, damaged });
        }
        match touched.iter().find(|damage| damage.first < from || damage.next > to) {
            Some(&Damage { first, next, .. }) => {
                Err(SkipError::CutsThrough { partition: partition(), from, to, first, next })
            }
            None => Ok(touched),
        }
    }

    /// Copies the bytes of a damaged stretch to the quarantine, durably.
    pub(in crate::storage) fn keep_copy(
        self,
        damage: &Damage,
    ) -> Result<SkippedStretch, StorageError> {
        let segments = self.log.segments();
        let segment = segments.iter().find(|segment| segment.base() == damage.segment);
        let segment = segment.filter(|_| damage.start < damage.end);
        let copied = segment.map(|segment| copy(segment, damage)).transpose()?;
        let unreadable = copied.as_ref().map_or(0, |copied| copied.unreadable);
        let copy = copied.map(|copied| copied.path);
        Ok(SkippedStretch { damage: *damage, copy, unreadable })
    }
}
