//! The changes of a log since its last rebuild point.

use std::sync::Arc;

use crate::storage::segments::Segment;
use crate::types::Offset;

/// The changes since the last rebuild point.
#[derive(Debug, Default)]
pub(super) struct Unrecorded {
    /// Rolled segments without a written seal.
    segments: Vec<Arc<Segment>>,
    /// Bytes appended.
    bytes: u64,
}

/// The number of bytes above the rebuild point at which it advances: a restart reads them again in
/// well below a second.
const BYTES_TO_REBUILD: u64 = 64 << 20;

impl Unrecorded {
    /// Returns true if the rebuild point must advance.
    pub(super) fn is_enough(&self) -> bool {
        self.bytes >= BYTES_TO_REBUILD || !self.segments.is_empty()
    }

    /// Returns true if the seal of this rolled segment is not written.
    pub(super) fn has(&self, segment: &Arc<Segment>) -> bool {
        self.segments.iter().any(|other| Arc::ptr_eq(other, segment))
    }

    /// The rolled segments without a written seal.
    pub(super) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Takes the number of appended bytes, which begins at 0 again.
    pub(super) fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    /// Adds appended bytes.
    pub(super) fn add_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Adds a segment that was rolled.
    pub(super) fn add_segment(&mut self, segment: Arc<Segment>) {
        self.segments.push(segment);
    }

    /// Drops a segment that was sealed or removed.
    pub(super) fn forget_segment(&mut self, segment: &Arc<Segment>) {
        self.segments.retain(|other| !Arc::ptr_eq(other, segment));
    }

    /// Drops the segments from `base` on, where the log was truncated.
    pub(super) fn truncate(&mut self, base: Offset) {
        self.segments.retain(|segment| segment.base() < base);
    }
}
