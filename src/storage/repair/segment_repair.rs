//! The repair of one segment.

use std::ops::Range;
use std::sync::Arc;

use crate::storage::log::Closed;
use crate::storage::repair::RepairError;
use crate::storage::repair::checking::{CheckedBatches, History, Missing};
use crate::storage::repair::gaps::Gaps;
use crate::storage::replacement::{Replacement, ReplacementWriter};
use crate::storage::segments::{Damage, FileKind};
use crate::storage::{DataDir, Log, LogDamage, StorageError};
use crate::types::{LeaderEpoch, Offset};

/// A closed segment with damage that the operator has not skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedSegment {
    /// The base offset of the segment.
    pub base: Offset,
    /// The offsets of its damaged stretches, rising. A stretch may have none, if its bytes lie
    /// between batches that follow one another.
    pub stretches: Vec<Range<Offset>>,
}

/// The repair of a closed segment whose damaged stretches are fetched again.
///
/// All calls block on the disk. A repair that is dropped leaves the log as it was. While it lives,
/// compaction does not replace the segment, and no second repair of the segment can begin.
#[derive(Debug)]
pub struct Repair {
    replacement: Replacement,
    writer: ReplacementWriter,
    closed: Closed,
    /// The damaged stretches, by position.
    damages: Vec<Damage>,
    /// The number of stretches that are filled.
    filled: usize,
    /// The position in the damaged segment up to which everything is copied or filled.
    position: u64,
    /// The offset after the last batch or gap of the replacement.
    next: Offset,
    /// The epoch of the last batch of the replacement.
    last_epoch: LeaderEpoch,
    history: History,
    gaps: Gaps,
}

impl Repair {
    /// The closed segments of a log that have damage which is not skipped, oldest first.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn needed(log: &Arc<Log>) -> Result<Vec<DamagedSegment>, StorageError> {
        let stretches = LogDamage::of(log).stretches()?;
        if stretches.is_empty() {
            return Ok(Vec::new());
        }
        let mut needed = Vec::new();
        for closed in log.compactable().closed()?.segments {
            let base = closed.segment.base();
            let of_segment = stretches.iter().filter(|stretch| stretch.damage.segment == base);
            let of_segment: Vec<_> = of_segment.collect();
            if is_repairable(log, &closed) && of_segment.iter().any(|stretch| !stretch.is_skipped) {
                let offsets = of_segment.iter().map(|stretch| &stretch.damage);
                let stretches = offsets.map(|damage| damage.first..damage.next).collect();
                needed.push(DamagedSegment { base, stretches });
            }
        }
        Ok(needed)
    }

    /// Begins to repair the segment that begins at `base`, including damage that the operator has
    /// skipped. Reads the whole segment, so that all its damage is known. `None` if the segment is
    /// not closed and durable, has no damage, or is being replaced already.
    ///
    /// # Errors
    /// If the log accepts no records, or the disk fails.
    pub fn begin(log: &Arc<Log>, base: Offset) -> Result<Option<Self>, StorageError> {
        let closed = log.compactable().closed()?;
        let generation = closed.generation;
        let mut closed = closed.segments.into_iter();
        let closed = closed.find(|closed| closed.segment.base() == base);
        let Some(closed) = closed.filter(|closed| is_repairable(log, closed)) else {
            return Ok(None);
        };
        LogDamage::of(log).check_around(base)?;
        let damages = damages_of(&closed);
        if damages.is_empty() {
            return Ok(None);
        }
        let replacement = Replacement::begin(log, std::slice::from_ref(&closed), generation);
        let Some(mut replacement) = replacement else { return Ok(None) };
        let mut repair = Self {
            writer: replacement.writer()?,
            replacement,
            closed,
            damages,
            filled: 0,
            position: 0,
            next: base,
            last_epoch: LeaderEpoch::NONE,
            history: History::of(log)?,
            gaps: Gaps::of(log)?,
        };
        repair.advance()?;
        Ok(Some(repair))
    }

    /// The offsets that are wanted from the leader next; `None` once nothing is missing any more.
    ///
    /// # Errors
    /// Those of the disk, and `Corrupt` if a batch that was sound has changed. The repair cannot
    /// continue then.
    pub fn wants(&mut self) -> Result<Option<Range<Offset>>, StorageError> {
        self.advance()?;
        let log_start = self.log().log_start_offset();
        let damage = self.damages.get(self.filled);
        Ok(damage.map(|damage| self.next.max(log_start)..damage.next))
    }

    /// Lets fetched batches lack these offsets, because the leader has declared them as gaps: it
    /// has skipped damage there. The gaps that result are recorded as skipped in this log too.
    pub fn expect_gaps(&mut self, gaps: impl IntoIterator<Item = Range<Offset>>) {
        self.gaps.declare(gaps);
    }

    /// Takes whole batches that the leader has sent from the start of the wanted offsets on.
    /// Batches beyond the wanted offsets are ignored; the first of them shows that the leader has
    /// nothing more for the stretch. The batches below the log start may be missing.
    ///
    /// # Errors
    /// The first batch that is refused: none is taken then, and the call may be repeated with other
    /// batches. After `Storage` the repair cannot continue.
    pub fn take(&mut self, batches: &[u8]) -> Result<(), RepairError> {
        let Some(damage) = self.damages.get(self.filled) else { return Ok(()) };
        let missing = Missing {
            offsets: self.next..damage.next,
            last_epoch: self.last_epoch,
            log_start: self.log().log_start_offset(),
            history: &self.history,
            gaps: &self.gaps,
        };
        let CheckedBatches { batches, gaps, next } = missing.check(batches)?;
        for (summary, batch) in batches {
            self.writer.add(batch)?;
            self.last_epoch = summary.leader_epoch;
        }
        self.gaps.add(gaps);
        self.next = next;
        self.advance()?;
        Ok(())
    }

    /// Copies the sound batches after the damage, makes the repaired segment durable, and puts it
    /// in the place of the damaged one. Pass the data directory of the log, which may remove the
    /// log meanwhile. Returns false, with nothing changed, if offsets are still wanted, if more
    /// damage was found in the segment, or if the log was truncated or no longer has the segment.
    ///
    /// # Errors
    /// Those of the disk, and `Corrupt` if a batch that was sound has changed. If a file may have
    /// been renamed, the log accepts no more records, and its next start completes the repair.
    pub fn finish(mut self, directory: Option<&DataDir>) -> Result<bool, StorageError> {
        self.advance()?;
        if self.filled < self.damages.len() || !self.replacement.is_current() {
            return Ok(false);
        }
        if let Err(error) = self.copy_rest() {
            // The file of a segment that was truncated ends earlier.
            return if self.replacement.is_current() { Err(error) } else { Ok(false) };
        }
        let Self { replacement, writer, closed, damages, gaps, .. } = self;
        let log = Arc::clone(replacement.log());
        let base = closed.segment.base();
        let is_as_known = || damages_of(&closed) == damages;
        if writer.is_empty() {
            let _segments = log.compactable().hold();
            let is_current = replacement.is_current() && is_as_known();
            return if is_current { gaps.skip_all(&log).map(|()| true) } else { Ok(false) };
        }
        let sealed_at = closed.segment.facts(closed.next_offset)?.sealed_at;
        let repaired = Arc::new(writer.finish(sealed_at, closed.next_offset)?);
        let is_done = replacement.put_in_place(repaired, directory, || {
            if !is_as_known() {
                return Ok(false);
            }
            gaps.record(&log, base).map(|()| true)
        })?;
        if is_done {
            let stretches = damages.len();
            let path = closed.segment.path(FileKind::Log);
            tracing::info!(path = %path.display(), stretches, "damage was repaired");
        }
        Ok(is_done)
    }

    fn log(&self) -> &Arc<Log> {
        self.replacement.log()
    }

    /// Copies the sound batches up to the next stretch that lacks offsets.
    fn advance(&mut self) -> Result<(), StorageError> {
        let log_start = self.log().log_start_offset();
        while let Some(Damage { start, end, first, next, .. }) =
            self.damages.get(self.filled).copied()
        {
            self.copy_to(start)?;
            self.next = self.next.max(first);
            if self.next.max(log_start) < next {
                return Ok(());
            }
            // Nobody reads the offsets below the log start, and the leader may have removed them.
            if self.next < next {
                self.gaps.add(self.gaps.explain(self.next..next, log_start));
                self.next = next;
            }
            self.position = self.position.max(end);
            self.filled += 1;
        }
        Ok(())
    }

    /// Copies the sound batches after the damage. Keeps the bytes of damage of which the leader has
    /// nothing better.
    fn copy_rest(&mut self) -> Result<(), StorageError> {
        let size = self.closed.segment.size()?;
        self.copy_to(size)?;
        for damage in self.damages.iter().filter(|damage| damage.start < damage.end) {
            let is_skipped = self.log().context().is_skipped(damage);
            if !is_skipped && self.gaps.skip_any_of(&(damage.first..damage.next)) {
                LogDamage::of(self.log()).keep_copy(damage)?;
            }
        }
        Ok(())
    }

    /// Copies the sound batches below a position, as they are.
    fn copy_to(&mut self, end: u64) -> Result<(), StorageError> {
        let segment = Arc::clone(&self.closed.segment);
        if self.position >= end {
            return Ok(());
        }
        let mut batches = segment.batches_in(self.position..end);
        while let Some((place, batch)) = batches.next()? {
            let summary = &place.summary;
            if summary.base_offset < self.next || summary.next_offset() > self.closed.next_offset {
                // The checksum does not cover the offset, which has changed since the check.
                let offsets = segment.base()..segment.base();
                let path = segment.path(FileKind::Log);
                return Err(segment.context().corrupt(offsets, &path, place.position));
            }
            self.writer.add(batch.bytes())?;
            (self.next, self.last_epoch) = (summary.next_offset(), summary.leader_epoch);
        }
        self.position = end;
        Ok(())
    }
}

/// The damaged stretches of a segment, by position.
fn damages_of(closed: &Closed) -> Vec<Damage> {
    let mut damages = closed.segment.damages();
    damages.sort_by_key(|damage| (damage.start, damage.first));
    damages
}

/// Returns true if a closed segment is durable, with indexes and seal, and has offsets at or above
/// the log start.
fn is_repairable(log: &Log, closed: &Closed) -> bool {
    let offsets = log.checkpoints().offsets();
    closed.next_offset <= offsets.rebuild && closed.next_offset > offsets.log_start
}
