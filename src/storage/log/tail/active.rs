//! The segment that a log appends to.

use std::sync::Arc;
use std::time::Duration;

use crate::storage::segments::{HeaderDigests, Indexer, Located, Segment};
use crate::types::{Offset, Timestamp};

/// The active segment.
#[derive(Debug)]
pub(in crate::storage::log) struct Active {
    pub(super) segment: Arc<Segment>,
    /// The position of the next batch.
    pub(super) size: u64,
    pub(super) indexer: Indexer,
    /// The digests of all batches, including those that an earlier process has stored.
    pub(super) digests: HeaderDigests,
    /// The time of its first append, or of opening the log, by the monotonic clock.
    pub(super) began: Duration,
    /// The time of its last append, or of opening the log, by the wall clock.
    pub(super) last_append: Timestamp,
}

impl Active {
    /// The largest timestamp of the segment's batches.
    pub(in crate::storage::log) fn max_timestamp(&self) -> Timestamp {
        self.indexer.max_timestamp()
    }

    /// The time of its last append, or of opening the log, by the wall clock.
    pub(in crate::storage::log) fn last_append(&self) -> Timestamp {
        self.last_append
    }

    /// The digests of all batches of the segment.
    pub(in crate::storage::log) fn digests(&self) -> &HeaderDigests {
        &self.digests
    }

    /// Returns true if `segment` is the active segment.
    pub(super) fn is(&self, segment: &Arc<Segment>) -> bool {
        Arc::ptr_eq(&self.segment, segment)
    }

    /// Adds a batch that was written at the segment's end.
    pub(super) fn pass(&mut self, batch: &Located) {
        self.segment.push_entries(self.indexer.pass(batch));
        self.digests.pass(batch);
        self.size = batch.end();
    }

    /// Ends the segment. `next_offset` is the offset after the segment's last batch.
    pub(super) fn seal(mut self, now: Timestamp, next_offset: Offset) -> Arc<Segment> {
        self.segment.seal(&mut self.indexer, &self.digests, now, next_offset);
        // From here on nobody changes the file.
        self.segment.verified().look_for_changes(&**self.segment.file());
        self.segment
    }
}
