//! The changes of a log that no flush has taken over yet.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::LogConfig;
use crate::storage::segments::Segment;

/// The records that no flush has taken over yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unflushed {
    /// The number of records.
    pub records: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The time at which `flush.messages` or `flush.ms` makes a flush due, by the monotonic clock.
    pub due: Duration,
}

/// The changes that no flush has taken over yet. The active segment is not among them: every flush
/// syncs it.
#[derive(Debug, Default)]
pub(in crate::storage::log) struct Unsynced {
    records: u64,
    bytes: u64,
    /// The time of the oldest append among the changes, by the monotonic clock; `None` if there are
    /// none.
    since: Option<Duration>,
    /// Segments rolled since the last flush, oldest first.
    segments: Vec<Arc<Segment>>,
    /// True if a failed write was truncated and the truncation is not durable.
    is_cut: bool,
    /// True if the directory has names that are not durable.
    has_names: bool,
}

impl Unsynced {
    /// The rolled segments, oldest first.
    pub(in crate::storage::log) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Returns true if the directory has names that are not durable.
    pub(in crate::storage::log) fn has_names(&self) -> bool {
        self.has_names
    }

    /// Returns true if something other than records has to be synced: a name, or a truncation.
    pub(super) fn has_more_than_records(&self) -> bool {
        self.has_names || self.is_cut
    }

    /// The records, and the time at which the topic's settings make their flush due.
    pub(super) fn unflushed(&self, config: &LogConfig) -> Option<Unflushed> {
        let since = self.since?;
        let is_enough = self.records >= config.flush_messages;
        let due = if is_enough { since } else { since.saturating_add(config.flush_interval) };
        Some(Unflushed { records: self.records, bytes: self.bytes, due })
    }

    /// Adds records appended at `now`.
    pub(super) fn add_records(&mut self, records: u64, bytes: u64, now: Duration) {
        self.records += records;
        self.bytes += bytes;
        self.since.get_or_insert(now);
    }

    /// Adds a segment that was rolled.
    pub(super) fn add_segment(&mut self, segment: Arc<Segment>) {
        self.segments.push(segment);
    }

    /// Notes the truncation of a failed write: until it is synced, a crash may bring the bytes
    /// back.
    pub(super) fn note_cut(&mut self) {
        self.is_cut = true;
    }

    /// Notes a new or a removed name in the directory.
    pub(super) fn note_names(&mut self) {
        self.has_names = true;
    }

    /// Drops the records: they need not become durable any more.
    pub(super) fn forget_records(&mut self) {
        (self.records, self.bytes, self.since) = (0, 0, None);
    }

    /// Drops a segment that was removed.
    pub(super) fn forget_segment(&mut self, segment: &Arc<Segment>) {
        self.segments.retain(|unsynced| !Arc::ptr_eq(unsynced, segment));
    }

    /// Replaces the rolled segments.
    pub(super) fn set_segments(&mut self, segments: Vec<Arc<Segment>>) {
        self.segments = segments;
    }

    /// Adds the changes that a flush had taken over and did not make durable. `active` is synced by
    /// every flush.
    pub(super) fn take_back(&mut self, earlier: Self, active: Option<&Arc<Segment>>) {
        let later = std::mem::take(&mut self.segments);
        let is_known = |segment: &Arc<Segment>| {
            active.into_iter().chain(&later).any(|s| Arc::ptr_eq(s, segment))
        };
        self.segments = earlier.segments;
        self.segments.retain(|segment| !is_known(segment));
        self.segments.extend(later);
        self.records += earlier.records;
        self.bytes += earlier.bytes;
        self.since = earlier.since.or(self.since);
        self.has_names |= earlier.has_names;
        self.is_cut |= earlier.is_cut;
    }
}
