//! The choice of batches that get index entries.
//!
//! The same batches always get the same entries, whether they are appended, recovered or indexed
//! again.

use crate::storage::segments::Located;
use crate::storage::segments::entry::{OffsetEntry, TimeEntry};
use crate::types::{Offset, Timestamp};

/// Determines the index entries while passing over the batches of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexer {
    base: Offset,
    interval: u64,
    bytes_since_entry: u64,
    /// The largest timestamp so far, and the last offset of the first batch that has it.
    max_timestamp: Timestamp,
    max_timestamp_offset: Offset,
    last_time_entry: Timestamp,
}

/// The entries due at a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Due {
    pub(crate) offset: Option<OffsetEntry>,
    pub(crate) time: Option<TimeEntry>,
}

impl Indexer {
    /// An indexer at the beginning of the segment `base`.
    pub(crate) fn new(base: Offset, interval: u64) -> Self {
        Self {
            base,
            interval,
            bytes_since_entry: 0,
            max_timestamp: Timestamp::NONE,
            max_timestamp_offset: base,
            last_time_entry: Timestamp::NONE,
        }
    }

    /// An indexer at the batch of the last offset entry, where `time` is the last time entry.
    ///
    /// That batch must be passed next. It gets no second entry, because no entry is due at the
    /// first batch that an indexer passes.
    pub(crate) fn resumed(base: Offset, interval: u64, time: Option<TimeEntry>) -> Self {
        let mut indexer = Self::new(base, interval);
        if let Some(entry) = time {
            indexer.max_timestamp = entry.timestamp;
            indexer.max_timestamp_offset = base.plus(entry.relative_offset.into());
            indexer.last_time_entry = entry.timestamp;
        }
        indexer
    }

    /// The largest timestamp so far, including that of the time entry with which the indexer was
    /// resumed; `NONE` if there is none yet.
    pub(crate) fn max_timestamp(&self) -> Timestamp {
        self.max_timestamp
    }

    /// Passes a batch, and returns the entries due at it.
    pub(crate) fn pass(&mut self, batch: &Located) -> Due {
        // An emptied batch has no record that a lookup could return.
        if batch.summary.record_count > 0 && batch.summary.max_timestamp > self.max_timestamp {
            self.max_timestamp = batch.summary.max_timestamp;
            self.max_timestamp_offset = batch.summary.last_offset;
        }
        let mut due = Due::default();
        if self.bytes_since_entry > self.interval {
            due.offset = self.offset_entry(batch);
            due.time = self.time_entry();
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += batch.summary.size as u64;
        due
    }

    /// Takes the time entry for the largest timestamp so far, at an interval or when the segment is
    /// rolled. `None` if that timestamp has not grown since the last entry, or if its offset does
    /// not fit into one.
    pub(crate) fn time_entry(&mut self) -> Option<TimeEntry> {
        if self.max_timestamp <= self.last_time_entry {
            return None;
        }
        let relative_offset = relative(self.max_timestamp_offset, self.base)?;
        self.last_time_entry = self.max_timestamp;
        Some(TimeEntry { timestamp: self.max_timestamp, relative_offset })
    }

    fn offset_entry(&self, batch: &Located) -> Option<OffsetEntry> {
        Some(OffsetEntry {
            relative_offset: relative(batch.summary.last_offset, self.base)?,
            position: i32::try_from(batch.position).ok()?,
        })
    }
}

/// The offset relative to the base, if it fits into an index entry.
fn relative(offset: Offset, base: Offset) -> Option<i32> {
    i32::try_from(offset.since(base)).ok()
}
