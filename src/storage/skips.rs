//! The offsets of a log that an operator has skipped.
//!
//! They are stored in the file `skipped` of the log's directory, a checked text with a row `first
//! next` for each range, end excluded. Readers pass over a damaged stretch whose offsets lie in one
//! range; a stretch that has grown beyond its range is refused again. The file is read only once a
//! log is damaged or truncated.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::io::Disk;
use crate::storage::{Stored, checked_text, small_file};
use crate::types::Offset;

/// A range of offsets that readers pass over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Skip {
    first: Offset,
    next: Offset,
}

/// All skipped ranges of a log.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    /// The ranges, sorted and without overlaps; `None` until the file was read.
    ranges: ArcSwapOption<Vec<Skip>>,
}

const FILE_NAME: &str = "skipped";
const VERSION: i64 = 0;

impl Skips {
    /// Returns true if all offsets of a damaged stretch are skipped. If the file cannot be read,
    /// none count as skipped: an error is better than passing over records without a decision.
    pub(crate) fn cover(&self, disk: &dyn Disk, dir: &Path, offsets: &Range<Offset>) -> bool {
        let ranges = self.ranges(disk, dir).unwrap_or_else(|error| {
            tracing::error!(dir = %dir.display(), %error, "skipped damage is refused again");
            Arc::default()
        });
        ranges.iter().any(|skip| skip.first <= offsets.start && offsets.end <= skip.next)
    }

    /// Adds offsets; durable on return. Must not be called concurrently.
    pub(in crate::storage) fn add(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        offsets: impl IntoIterator<Item = Range<Offset>>,
    ) -> io::Result<()> {
        let added = offsets.into_iter().map(|range| Skip { first: range.start, next: range.end });
        let known = self.ranges(disk, dir)?;
        self.replace(disk, dir, merged(known.iter().copied().chain(added).collect()))
    }

    /// Removes offsets at or above `end`, where the log is truncated: other records will have them.
    pub(in crate::storage) fn truncate(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        end: Offset,
    ) -> io::Result<()> {
        let known = self.ranges(disk, dir)?;
        if known.iter().all(|skip| skip.next <= end) {
            return Ok(());
        }
        let below = known.iter().filter(|skip| skip.first < end);
        let below = below.map(|skip| Skip { next: skip.next.min(end), ..*skip });
        self.replace(disk, dir, below.collect())
    }

    fn replace(&self, disk: &dyn Disk, dir: &Path, ranges: Vec<Skip>) -> io::Result<()> {
        let path = dir.join(FILE_NAME);
        if ranges.is_empty() {
            small_file::remove(disk, &path)?;
        } else {
            checked_text::write(disk, &path, VERSION, ranges.iter())?;
        }
        self.ranges.store(Some(Arc::new(ranges)));
        Ok(())
    }

    fn ranges(&self, disk: &dyn Disk, dir: &Path) -> io::Result<Arc<Vec<Skip>>> {
        if let Some(ranges) = self.ranges.load_full() {
            return Ok(ranges);
        }
        let ranges = match checked_text::read(disk, &dir.join(FILE_NAME), VERSION, parse)? {
            Stored::Absent => Vec::new(),
            Stored::Sound(ranges) => ranges,
            Stored::Damaged(reason) => {
                // The operator can skip the damage again; guessing could hide sound records.
                let path = dir.join(FILE_NAME);
                tracing::error!(path = %path.display(), reason, "skipped damage is refused again");
                Vec::new()
            }
        };
        let ranges = Arc::new(ranges);
        // Another thread may have set newer ranges since the file was read: keep those.
        self.ranges.compare_and_swap(&None::<Arc<Vec<Skip>>>, Some(Arc::clone(&ranges)));
        Ok(self.ranges.load_full().unwrap_or(ranges))
    }
}

/// Merges the ranges into as few as possible, sorted.
fn merged(mut ranges: Vec<Skip>) -> Vec<Skip> {
    ranges.sort_by_key(|skip| skip.first);
    let mut merged: Vec<Skip> = Vec::with_capacity(ranges.len());
    for skip in ranges {
        match merged.last_mut() {
            Some(last) if skip.first <= last.next => last.next = last.next.max(skip.next),
            _ => merged.push(skip),
        }
    }
    merged
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.first, self.next)
    }
}

fn parse(row: &str) -> Option<Skip> {
    let (first, next) = row.split_once(' ')?;
    let first = Offset::checked(first.parse().ok()?)?;
    let next = Offset::checked(next.parse().ok()?)?;
    (first < next).then_some(Skip { first, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    fn damage(first: i64, next: i64) -> Range<Offset> {
        Offset::new(first)..Offset::new(next)
    }

    #[test]
    fn only_skipped_offsets_are_covered_also_after_a_restart() {
        let disk = MemoryDisk::default();
        let dir = Path::new("/");
        let skips = Skips::default();
        assert!(!skips.cover(&disk, dir, &damage(5, 8)));
        skips.add(&disk, dir, [damage(5, 8), damage(20, 30), damage(8, 9)]).unwrap();
        for skips in [skips, Skips::default()] {
            for (first, next, is_covered) in
                [(5, 8, true), (5, 9, true), (4, 8, false), (5, 10, false), (25, 30, true)]
            {
                let found = skips.cover(&disk, dir, &damage(first, next));
                assert_eq!(found, is_covered, "{first} to {next}");
            }
        }
    }

    #[test]
    fn truncated_offsets_are_no_longer_skipped() {
        let disk = MemoryDisk::default();
        let dir = Path::new("/");
        let skips = Skips::default();
        skips.add(&disk, dir, [damage(5, 8), damage(20, 30)]).unwrap();
        skips.truncate(&disk, dir, Offset::new(22)).unwrap();
        assert!(Skips::default().cover(&disk, dir, &damage(20, 22)));
        assert!(!Skips::default().cover(&disk, dir, &damage(20, 23)));
        skips.truncate(&disk, dir, Offset::new(0)).unwrap();
        assert!(!disk.exists(&Path::new("/").join(FILE_NAME)).unwrap());
    }

    #[test]
    fn a_damaged_file_skips_nothing() {
        let disk = MemoryDisk::default();
        let dir = Path::new("/");
        Skips::default().add(&disk, dir, [damage(5, 8)]).unwrap();
        let path = Path::new("/").join(FILE_NAME);
        let mut bytes = small_file::read(&disk, &path).unwrap().unwrap();
        bytes[4] ^= 1;
        small_file::write_new(&disk, &path, &bytes).unwrap();
        let skips = Skips::default();
        assert!(!skips.cover(&disk, dir, &damage(5, 8)));
        skips.add(&disk, dir, [damage(5, 8)]).unwrap();
        assert!(Skips::default().cover(&disk, dir, &damage(5, 8)));
    }
}
