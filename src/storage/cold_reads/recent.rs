//! The ranges that were read past the page cache in the last minutes.
//!
//! A second reader of the same bytes brings them into the page cache, so that a third reader finds
//! them in it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::io::CachedFile;

/// Ranges of files, oldest first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    ranges: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    file: Weak<CachedFile>,
    range: Range<u64>,
    /// The time of the last read, by the monotonic clock.
    at: Duration,
}

/// The most ranges kept. A sequential reader has one per segment.
const RANGES_MAX: usize = 64;

/// The time for which a range counts as read recently.
const AGE_MAX: Duration = Duration::from_mins(10);

impl Recent {
    /// Records a read.
    pub(super) fn add(&mut self, file: &Arc<CachedFile>, range: &Range<u64>, now: Duration) {
        let this = Arc::as_ptr(file);
        let continued = self.ranges.iter_mut().find(|entry| {
            entry.file.as_ptr() == this
                && entry.range.start <= range.start
                && range.start <= entry.range.end
        });
        if let Some(entry) = continued {
            entry.range.end = entry.range.end.max(range.end);
            entry.at = now;
            return;
        }
        if self.ranges.len() == RANGES_MAX {
            self.ranges.pop_front();
        }
        self.ranges.push_back(Entry { file: Arc::downgrade(file), range: range.clone(), at: now });
    }

    /// Returns true if a byte was read recently.
    pub(super) fn contains(&self, file: &Arc<CachedFile>, position: u64, now: Duration) -> bool {
        let this = Arc::as_ptr(file);
        self.ranges.iter().any(|entry| {
            entry.file.as_ptr() == this
                && entry.range.contains(&position)
                && now.saturating_sub(entry.at) < AGE_MAX
        })
    }

    /// Forgets ranges that are too old to count.
    pub(super) fn expire(&mut self, now: Duration) {
        self.ranges.retain(|entry| now.saturating_sub(entry.at) < AGE_MAX);
    }
}
