//! The ranges of a segment's file whose bytes in the page cache were checked.
//!
//! A range is vouched for when this process appended it, or has checked it since its bytes last
//! came from the medium. Bytes come from the medium by this process's own reads only, which read
//! no more than they ask for: so whoever reads looks at the page cache first, and when a page is
//! missing withdraws what the read may bring. A page that is in memory and stays there needs
//! nothing.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::io::File;

/// The vouched ranges of one segment.
#[derive(Debug, Default)]
pub(crate) struct Vouched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Sorted, and apart from one another.
    ranges: Vec<Range<u64>>,
    /// Rises with every withdrawal.
    withdrawals: u64,
}

/// What a read from the medium may bring with it: a page, of any size that kernels are built with.
const UNIT: u64 = 64 * 1024;

/// The most ranges kept; of more the smallest is forgotten, and checked again when it is read.
const RANGES_MAX: usize = 128;

impl Vouched {
    /// Whether all of a range is vouched for. An empty one always is.
    pub(crate) fn covers(&self, position: u64, length: u64) -> bool {
        if length == 0 {
            return true;
        }
        let state = self.lock();
        let after = state.ranges.partition_point(|range| range.start <= position);
        let found = after.checked_sub(1).and_then(|index| state.ranges.get(index));
        found.is_some_and(|range| position + length <= range.end)
    }

    /// Vouches for a range that was written from memory.
    pub(crate) fn add(&self, range: Range<u64>) {
        self.lock().add(range);
    }

    /// The number of withdrawals so far, for [`Vouched::add_unless_withdrawn`].
    pub(crate) fn withdrawals(&self) -> u64 {
        self.lock().withdrawals
    }

    /// Vouches for a range that was checked, unless something was withdrawn since there were so
    /// many `withdrawals`. Returns whether it did.
    pub(crate) fn add_unless_withdrawn(&self, range: Range<u64>, withdrawals: u64) -> bool {
        let mut state = self.lock();
        let is_unchanged = state.withdrawals == withdrawals;
        if is_unchanged {
            state.add(range);
        }
        is_unchanged
    }

    /// Withdraws what a read of these bytes may bring from the medium.
    pub(crate) fn withdraw(&self, position: u64, length: u64) {
        let start = position - position % UNIT;
        let end = position.saturating_add(length).next_multiple_of(UNIT);
        self.lock().remove(start..end);
    }

    /// Withdraws everything from `size` on, where the file is cut.
    pub(crate) fn cut(&self, size: u64) {
        self.lock().remove(size..u64::MAX);
    }

    /// To be called before bytes are read: withdraws them unless all of them are in memory.
    pub(crate) fn before_read(&self, file: &dyn File, position: u64, length: u64) {
        // Also when nothing is vouched for yet: a check under way must not miss the read.
        if !file.is_cached(position, length) {
            self.withdraw(position, length);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.withdrawals += 1;
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
    use super::*;
    use crate::io::SeededRandom;

    const KB: u64 = 1024;

    #[test]
    fn a_range_is_vouched_for_once_all_of_it_was_added() {
        let vouched = Vouched::default();
        assert!(vouched.covers(0, 0) && !vouched.covers(0, 1));
        vouched.add(0..10);
        vouched.add(20..30);
        assert!(vouched.covers(0, 10) && vouched.covers(22, 8));
        assert!(!vouched.covers(5, 6) && !vouched.covers(10, 1) && !vouched.covers(15, 10));
        vouched.add(10..20);
        assert!(vouched.covers(0, 30) && !vouched.covers(0, 31));
    }

    #[test]
    fn a_read_from_the_medium_withdraws_all_it_may_bring() {
        let vouched = Vouched::default();
        vouched.add(0..1024 * KB);
        vouched.withdraw(300 * KB, 1);
        assert!(vouched.covers(0, 256 * KB) && vouched.covers(320 * KB, 704 * KB));
        assert!(!vouched.covers(256 * KB, 1) && !vouched.covers(319 * KB, 1));
        vouched.cut(500 * KB);
        assert!(vouched.covers(320 * KB, 180 * KB) && !vouched.covers(499 * KB, 2 * KB));
    }

    #[test]
    fn what_was_read_while_it_was_checked_is_not_vouched_for() {
        let vouched = Vouched::default();
        let before = vouched.withdrawals();
        vouched.withdraw(0, 10);
        assert!(!vouched.add_unless_withdrawn(0..10, before));
        assert!(!vouched.covers(0, 10));
        assert!(vouched.add_unless_withdrawn(0..10, vouched.withdrawals()));
        assert!(vouched.covers(0, 10));
    }

    #[test]
    fn the_ranges_are_those_of_a_map_of_units() {
        let mut random = SeededRandom::new(15);
        let vouched = Vouched::default();
        let mut units = [false; 64];
        for _ in 0..2000 {
            let (first, count) = (random.index(64), 1 + random.index(8));
            let end = (first + count).min(64);
            let is_added = random.chance(2);
            units[first..end].fill(is_added);
            let (start, length) = (first as u64 * UNIT, (end - first) as u64 * UNIT);
            if is_added {
                vouched.add(start..start + length);
            } else {
                vouched.withdraw(start, length);
            }
            for (number, unit) in units.iter().enumerate() {
                assert_eq!(vouched.covers(number as u64 * UNIT, UNIT), *unit);
            }
        }
    }
}
