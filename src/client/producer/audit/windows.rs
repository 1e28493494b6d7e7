//! Counts of one batch by time window.

use std::time::Duration;

use crate::types::Timestamp;

/// The counts of a batch. Its records are consecutive, so it nearly always has a single window.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    counts: Vec<(i64, u32)>,
}

impl Windows {
    /// Counts a record with this timestamp, in windows of this width.
    pub(crate) fn add(&mut self, width: Duration, time: Timestamp) {
        self.count(start_of(width, time));
    }

    /// Counts a record of a part of a batch; `whole` has the counts of the whole batch.
    pub(crate) fn add_from(&mut self, whole: &Self, time: Timestamp) {
        // Windows do not overlap, so the record's window is the last that starts at or before it.
        let starts = whole.counts.iter().map(|(start, _)| *start);
        if let Some(start) = starts.filter(|start| *start <= time.millis()).max() {
            self.count(start);
        }
    }

    fn count(&mut self, start: i64) {
        match self.counts.iter_mut().rev().find(|(begin, _)| *begin == start) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.counts.push((start, 1)),
        }
    }

    /// The counts, by the first millisecond of each window.
    pub(crate) fn counts(&self) -> &[(i64, u32)] {
        &self.counts
    }
}

/// The first millisecond of the window that contains a timestamp.
pub(crate) fn start_of(width: Duration, time: Timestamp) -> i64 {
    let width = i64::try_from(width.as_millis()).unwrap_or(i64::MAX).max(1);
    time.millis().saturating_sub(time.millis().rem_euclid(width))
}
