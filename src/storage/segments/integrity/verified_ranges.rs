//! The ranges of a segment's file whose bytes in the page cache are verified.
//!
//! A range is verified if this process appended it, or has checked it since its bytes last came
//! from the medium. Bytes come from the medium only by this process's own reads, which read no more
//! than they ask for. So every read first asks whether its pages are in the page cache, and if one
//! is missing, withdraws the ranges that the read may bring in. Pages that stay in memory need no
//! new check.
//!
//! Another process that changes the file changes the pages in memory too. The time of the file's
//! last change shows it: after a change that is not this process's own, nothing is verified any
//! more. Two changes within the granularity of that time look like one.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::io::File;

/// The verified ranges of a segment.
#[derive(Debug, Default)]
pub(crate) struct VerifiedRanges {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The verified ranges, sorted and disjoint.
    ranges: Vec<Range<u64>>,
    /// The checks under way.
    checks: Vec<PendingState>,
    last_check: u64,
    /// This process's own changes: those that have begun, and those that have ended.
    changes_begun: u64,
    changes_ended: u64,
    /// The time of the file's last change, and the own changes before it.
    seen: Option<(SystemTime, u64)>,
}

/// A change of the file by this process, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnChange<'v>(&'v VerifiedRanges);

#[derive(Debug)]
struct PendingState {
    number: u64,
    start: u64,
    /// The first byte at or beyond `start` that was withdrawn since the check began.
    withdrawn_from: u64,
}

/// A check in progress of the bytes from some position on. It ends by marking the bytes as
/// verified, or by being dropped.
#[derive(Debug)]
pub(crate) struct PendingCheck<'v> {
    verified: &'v VerifiedRanges,
    number: u64,
}

/// The granularity in which a read may bring bytes from the medium: the largest page size that
/// kernels are built with.
const UNIT: u64 = 64 * 1024;

/// The most ranges kept; beyond that the smallest is dropped, and checked again when it is read.
const RANGES_MAX: usize = 128;

impl VerifiedRanges {
    /// Returns true if all of a range is verified. An empty range always is.
    pub(crate) fn covers(&self, position: u64, length: u64) -> bool {
        if length == 0 {
            return true;
        }
        let state = self.lock();
        let after = state.ranges.partition_point(|range| range.start <= position);
        let found = after.checked_sub(1).and_then(|index| state.ranges.get(index));
        found.is_some_and(|range| position + length <= range.end)
    }

    /// Marks a range as verified that was written from memory.
    pub(crate) fn add(&self, range: Range<u64>) {
        self.lock().add(range);
    }

    /// Notes that this process begins to change the file.
    pub(crate) fn begin_change(&self) -> OwnChange<'_> {
        self.lock().changes_begun += 1;
        OwnChange(self)
    }

    /// Withdraws everything if another process has changed the file since the last look.
    pub(crate) fn look_for_changes(&self, file: &dyn File) {
        let own = {
            let state = self.lock();
            if state.changes_begun != state.changes_ended {
                return;
            }
            state.changes_begun
        };
        let Ok(modified) = file.modified() else { return };
        let mut state = self.lock();
        if state.changes_begun != own {
            return;
        }
        let is_foreign = state.seen.is_some_and(|(time, before)| before == own && time != modified);
        if is_foreign {
            state.remove(0..u64::MAX);
        }
        state.seen = Some((modified, own));
    }

    /// Begins a check of the bytes from `start` on. Call it after the bytes were brought into
    /// memory and before the first of them is read: a read that may bring them in again invalidates
    /// the check.
    pub(crate) fn begin_check(&self, start: u64) -> PendingCheck<'_> {
        let mut state = self.lock();
        state.last_check += 1;
        let number = state.last_check;
        state.checks.push(PendingState { number, start, withdrawn_from: u64::MAX });
        PendingCheck { verified: self, number }
    }

    /// Withdraws the ranges that a read of these bytes may bring from the medium.
    pub(crate) fn withdraw(&self, position: u64, length: u64) {
        let (start, end) = unit_range(position, length);
        self.lock().remove(start..end);
    }

    /// Withdraws everything from `size` on, where the file is truncated.
    pub(crate) fn truncate(&self, size: u64) {
        self.lock().remove(size..u64::MAX);
    }

    /// Withdraws a range that is about to be read, unless all of it is in memory.
    pub(crate) fn before_read(&self, file: &dyn File, position: u64, length: u64) {
        // Do this even if nothing is verified yet: a check in progress must notice the read.
        let is_short = length <= UNIT;
        if length == 0 || (is_short && file.is_cached(position, length)) {
            return;
        }
        // If the first page is in memory, the read brings in nothing before it; the same holds for
        // the last page. Without this distinction, a sequential reader that begins a stretch would
        // withdraw the end of the previous one.
        let (mut start, mut end) = unit_range(position, length);
        let is_start_cached = file.is_cached(position, 1);
        let is_end_cached = file.is_cached(position + length - 1, 1);
        // If a long range is not in memory, its first or last page is usually missing. So look up
        // these two pages first, which is faster than a lookup of every page.
        if !is_short && is_start_cached && is_end_cached && file.is_cached(position, length) {
            return;
        }
        if is_start_cached {
            start = position;
        }
        if is_end_cached {
            end = position + length;
        }
        self.lock().remove(start..end);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bounds of the units that a range touches.
fn unit_range(position: u64, length: u64) -> (u64, u64) {
    (position - position % UNIT, position.saturating_add(length).next_multiple_of(UNIT))
}

impl PendingCheck<'_> {
    /// Marks the bytes up to `end` as verified, except the sorted `damaged` ranges and what was
    /// withdrawn since the check began.
    pub(crate) fn mark_verified_to(self, end: u64, damaged: &[Range<u64>]) {
        let mut state = self.verified.lock();
        let found = state.checks.iter().find(|check| check.number == self.number);
        let Some(&PendingState { start, withdrawn_from, .. }) = found else { return };
        let end = end.min(withdrawn_from);
        let mut from = start;
        for bytes in damaged {
            state.add(from..bytes.start.min(end));
            from = from.max(bytes.end);
        }
        state.add(from..end);
    }
}

impl Drop for OwnChange<'_> {
    fn drop(&mut self) {
        self.0.lock().changes_ended += 1;
    }
}

impl Drop for PendingCheck<'_> {
    fn drop(&mut self) {
        self.verified.lock().checks.retain(|check| check.number != self.number);
    }
}

impl State {
    fn add(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        let first = self.ranges.partition_point(|other| other.end < start);
        let after = self.ranges.partition_point(|other| other.start <= end);
        if first < after {
            start = start.min(self.ranges[first].start);
            end = end.max(self.ranges[after - 1].end);
        }
        self.ranges.splice(first..after, std::iter::once(start..end));
        if self.ranges.len() > RANGES_MAX {
            let smallest = (0..self.ranges.len()).min_by_key(|index| {
                let range = &self.ranges[*index];
                range.end - range.start
            });
            self.ranges.remove(smallest.unwrap_or_default());
        }
    }

    fn remove(&mut self, range: Range<u64>) {
        for check in self.checks.iter_mut().filter(|check| check.start < range.end) {
            check.withdrawn_from = check.withdrawn_from.min(range.start.max(check.start));
        }
        let first = self.ranges.partition_point(|other| other.end <= range.start);
        let after = self.ranges.partition_point(|other| other.start < range.end);
        if first >= after {
            return;
        }
        let before = self.ranges[first].start..range.start;
        let behind = range.end..self.ranges[after - 1].end;
        let left = [before, behind].into_iter().filter(|range| range.start < range.end);
        self.ranges.splice(first..after, left.collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::path::Path;

    use super::*;
    use crate::io::{Disk, MemoryDisk, OpenMode, SeededRandom};

    const KB: u64 = 1024;

    #[test]
    fn a_change_by_another_process_withdraws_everything_and_one_of_its_own_nothing() {
        let file = MemoryDisk::default().open(Path::new("/file"), OpenMode::Create).unwrap();
        let write = |byte| assert_eq!(file.write_at(&[IoSlice::new(&[byte])], 0).unwrap(), 1);
        let verified = VerifiedRanges::default();
        verified.add(0..10);
        let is_kept = || {
            verified.look_for_changes(&*file);
            verified.covers(0, 10)
        };
        assert!(is_kept(), "nothing was seen before");
        let change = verified.begin_change();
        write(1);
        assert!(is_kept(), "its own change is under way");
        drop(change);
        assert!(is_kept() && is_kept());
        write(2);
        assert!(!is_kept());
        verified.add(0..10);
        assert!(is_kept());
        write(3);
        let check = verified.begin_check(0);
        assert!(!is_kept());
        check.mark_verified_to(10, &[]);
        assert!(!is_kept(), "the check began before the change was seen");
    }

    #[test]
    fn a_range_is_verified_once_all_of_it_was_added() {
        let verified = VerifiedRanges::default();
        assert!(verified.covers(0, 0) && !verified.covers(0, 1));
        verified.add(0..10);
        verified.add(20..30);
        assert!(verified.covers(0, 10) && verified.covers(22, 8));
        assert!(!verified.covers(5, 6) && !verified.covers(10, 1) && !verified.covers(15, 10));
        verified.add(10..20);
        assert!(verified.covers(0, 30) && !verified.covers(0, 31));
    }

    #[test]
    fn a_read_from_the_medium_withdraws_every_range_it_may_bring_in() {
        let verified = VerifiedRanges::default();
        verified.add(0..1024 * KB);
        verified.withdraw(300 * KB, 1);
        assert!(verified.covers(0, 256 * KB) && verified.covers(320 * KB, 704 * KB));
        assert!(!verified.covers(256 * KB, 1) && !verified.covers(319 * KB, 1));
        verified.truncate(500 * KB);
        assert!(verified.covers(320 * KB, 180 * KB) && !verified.covers(499 * KB, 2 * KB));
    }

    #[test]
    fn a_check_verifies_nothing_that_was_read_meanwhile() {
        let verified = VerifiedRanges::default();
        let check = verified.begin_check(100 * KB);
        verified.withdraw(300 * KB, 1);
        check.mark_verified_to(500 * KB, &[]);
        assert!(verified.covers(100 * KB, 156 * KB), "up to the unit that was read");
        assert!(!verified.covers(256 * KB, 1));
        drop(verified.begin_check(256 * KB));
        assert!(!verified.covers(256 * KB, 1), "a dropped check verifies nothing");
        let check = verified.begin_check(256 * KB);
        verified.withdraw(0, 128 * KB);
        verified.withdraw(600 * KB, KB);
        check.mark_verified_to(500 * KB, &[]);
        assert!(verified.covers(128 * KB, 372 * KB), "reads before and after it do not matter");
    }

    #[test]
    fn the_ranges_are_those_of_a_map_of_units() {
        let mut random = SeededRandom::new(15);
        let verified = VerifiedRanges::default();
        let mut units = [false; 64];
        for _ in 0..2000 {
            let (first, count) = (random.index(64), 1 + random.index(8));
            let end = (first + count).min(64);
            let is_added = random.chance(2);
            units[first..end].fill(is_added);
            let (start, length) = (first as u64 * UNIT, (end - first) as u64 * UNIT);
            if is_added {
                verified.add(start..start + length);
            } else {
                verified.withdraw(start, length);
            }
            for (number, unit) in units.iter().enumerate() {
                assert_eq!(verified.covers(number as u64 * UNIT, UNIT), *unit);
            }
        }
    }
}
