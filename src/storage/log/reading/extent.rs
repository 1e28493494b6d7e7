//! The limits of a read, and the batches that a search finds within them.

use std::ops::Range;
use std::sync::Arc;

use crate::io::FileRange;
use crate::storage::segments::{Located, Segment};
use crate::types::Offset;

/// The limits of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// The maximum number of bytes.
    pub max_bytes: u64,
    /// The offset below which all batches must end, usually the high watermark.
    pub below: Offset,
    /// True if the first batch is returned whole even if it exceeds `max_bytes`, so that a reader
    /// with a small buffer makes progress (KIP-74).
    pub at_least_one_batch: bool,
    /// True if a read may begin with batches of which compaction has removed all records. A
    /// follower needs them: they are what a leader knows its producers by.
    pub keeps_emptied: bool,
}

impl ReadLimit {
    /// Returns true if the number of bytes allows a batch to be the first.
    pub(super) fn has_room_for(self, batch: &Located) -> bool {
        self.at_least_one_batch || batch.summary.size as u64 <= self.max_bytes
    }
}

/// Whole batches of a segment.
#[derive(Clone, Debug)]
pub struct Extent {
    segment: Arc<Segment>,
    range: FileRange,
}

impl Extent {
    /// A range of a segment that was located after this number of truncations.
    pub(super) fn of(segment: &Arc<Segment>, range: Range<u64>, truncations: u64) -> Self {
        Self { segment: Arc::clone(segment), range: segment.range(range, truncations) }
    }

    /// Returns true if its bytes are in memory, and this process has checked or appended them.
    pub fn is_verified(&self) -> bool {
        self.range.file.is_cached(self.range.position, self.range.length)
    }

    /// The number of its bytes.
    pub fn length(&self) -> u64 {
        self.range.length
    }

    /// The positions of its bytes.
    pub(super) fn bytes(&self) -> Range<u64> {
        self.range.position..self.range.position + self.range.length
    }

    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// The file and the position of its bytes.
    pub fn into_range(self) -> FileRange {
        self.range
    }
}
