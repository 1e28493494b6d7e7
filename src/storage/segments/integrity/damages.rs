//! The known damage of a log, and the only writer of its `damaged` file.
//!
//! Readers load a snapshot without a lock. Damage found while the log is open is added in memory
//! first, so that it is refused from then on even if the file cannot be written. `store`, which is
//! called after additions and at checkpoints, tries again.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use crate::io::Disk;
use crate::storage::segments::Damage;
use crate::types::Offset;

/// The known damage of a log.
#[derive(Debug, Default)]
pub(crate) struct Damages {
    /// The damaged stretches, sorted by segment and position; `None` in the usual case of no
    /// damage.
    known: ArcSwapOption<Vec<Damage>>,
    /// The number of stretches found since the log was opened.
    found: AtomicU64,
    /// True if the file is out of date.
    is_stale: AtomicBool,
    /// Held while the list is changed or the file written.
    writing: Mutex<()>,
}

/// The end of a log that was truncated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEnd {
    /// The base offset of the last segment.
    pub(crate) segment: Offset,
    /// The position at which this segment ends.
    pub(crate) position: u64,
    /// The offset after the last record.
    pub(crate) offset: Offset,
}

impl Damages {
    /// Loads the file of the log in `dir`.
    ///
    /// # Errors
    /// As [`Damage::load`].
    pub(crate) fn load(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.set(Damage::load(disk, dir)?);
        Ok(())
    }

    /// All damage, by segment and position.
    pub(crate) fn all(&self) -> Vec<Damage> {
        self.known.load().as_deref().cloned().unwrap_or_default()
    }

    /// The damage of one segment, by position.
    pub(crate) fn of(&self, segment: Offset) -> Vec<Damage> {
        let known = self.known.load();
        let known = known.iter().flat_map(|known| known.iter());
        known.filter(|damage| damage.segment == segment).copied().collect()
    }

    /// The damage because of which a batch at `position` of this segment cannot be read.
    pub(crate) fn at(&self, segment: Offset, position: u64) -> Option<Damage> {
        let known = self.known.load();
        let mut known = known.iter().flat_map(|known| known.iter());
        known.find(|damage| damage.segment == segment && damage.holds(position)).copied()
    }

    /// The number of damaged stretches found since the log was opened.
    #[cfg(any(test, feature = "internals"))]
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Adds damage, merged with stretches that it touches. Returns false if it was known.
    pub(crate) fn add(&self, damage: Damage) -> bool {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.all();
        if known.iter().any(|other| other.covers(&damage)) {
            return false;
        }
        let mut damage = damage;
        known.retain(|other| {
            let is_apart = !other.touches(&damage);
            if !is_apart {
                damage = damage.joined(other);
            }
            is_apart
        });
        known.push(damage);
        self.set(known);
        self.found.fetch_add(1, Ordering::Relaxed);
        self.is_stale.store(true, Ordering::Release);
        true
    }

    /// Writes the file of the log in `dir` if it is out of date; durable on return.
    pub(crate) fn store(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        if !self.is_stale.load(Ordering::Acquire) {
            return Ok(());
        }
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        Damage::store(disk, dir, &self.all())?;
        self.is_stale.store(false, Ordering::Release);
        Ok(())
    }

    /// Replaces all damage, in the file of the log in `dir` first; durable on return.
    pub(crate) fn replace(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        damages: Vec<Damage>,
    ) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        Damage::store(disk, dir, &damages)?;
        self.set(damages);
        self.is_stale.store(false, Ordering::Release);
        Ok(())
    }

    /// Writes the file of the log in `dir` without the damage of the segments that begin within
    /// `bases`, if there is any; durable on return. Readers are refused the damage until `forget`.
    pub(crate) fn store_without(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        bases: &Range<Offset>,
    ) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.all();
        let left = without(&known, bases);
        if left.len() == known.len() {
            return Ok(());
        }
        Damage::store(disk, dir, &left)?;
        self.is_stale.store(false, Ordering::Release);
        Ok(())
    }

    /// Forgets the damage of the segments that begin within `bases`, which the file lacks already.
    pub(crate) fn forget(&self, bases: &Range<Offset>) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.set(without(&self.all(), bases));
    }

    /// Removes damage beyond the `end` at which the log in `dir` was truncated. Durable on return.
    pub(crate) fn truncate(&self, disk: &dyn Disk, dir: &Path, end: LogEnd) -> io::Result<()> {
        let LogEnd { segment: base, position: size, offset: end } = end;
        let known = self.all();
        let is_left = |damage: &&Damage| {
            damage.segment < base || damage.segment == base && damage.start < size
        };
        let left = known.iter().filter(is_left);
        let left: Vec<_> = left
            .map(|damage| {
                let is_at_cut = damage.segment == base && damage.end > size;
                let bound = if is_at_cut { size } else { damage.end };
                Damage { end: bound, next: damage.next.min(end).max(damage.first), ..*damage }
            })
            .collect();
        if left == known { Ok(()) } else { self.replace(disk, dir, left) }
    }

    fn set(&self, mut damages: Vec<Damage>) {
        damages.sort_unstable_by_key(|damage| (damage.segment, damage.start));
        self.known.store((!damages.is_empty()).then(|| Arc::new(damages)));
    }
}

/// The damage of all segments but those that begin within `bases`.
fn without(known: &[Damage], bases: &Range<Offset>) -> Vec<Damage> {
    known.iter().filter(|damage| !bases.contains(&damage.segment)).copied().collect()
}
