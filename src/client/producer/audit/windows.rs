//! How many records of one batch belong to each window of time.

use std::time::Duration;

use crate::types::Timestamp;

/// The counts of a batch. Its records came one after the other: nearly always it is one window.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    counts: Vec<(i64, u32)>,
}

impl Windows {
    /// One more record of this time, for windows of this width.
    pub(crate) fn add(&mut self, width: Duration, time: Timestamp) {
        let start = start_of(width, time);
        match self.counts.iter_mut().rev().find(|(begin, _)| *begin == start) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.counts.push((start, 1)),
        }
    }

    /// The counts, by the first millisecond of their windows.
    pub(crate) fn counts(&self) -> &[(i64, u32)] {
        &self.counts
    }
}

/// The first millisecond of the window that a time belongs to.
pub(crate) fn start_of(width: Duration, time: Timestamp) -> i64 {
    let width = i64::try_from(width.as_millis()).unwrap_or(i64::MAX).max(1);
    time.millis().saturating_sub(time.millis().rem_euclid(width))
}
