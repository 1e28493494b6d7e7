//! The bounds and the segments of a log, as readers see them.

use std::sync::Arc;

use crate::storage::log::tail::offsets::Offsets;
use crate::storage::log::tail::segment_list::{SegmentList, Segments};
use crate::storage::segments::{LogContext, Segment};
use crate::types::Offset;

/// A log's bounds and segments, which readers access without a lock. Only the tail changes them,
/// under its lock: the fields, and the functions that change their content, are visible in the
/// tail's folder only.
#[derive(Debug)]
pub(in crate::storage::log) struct View {
    pub(super) context: Arc<LogContext>,
    pub(super) offsets: Offsets,
    pub(super) segments: SegmentList,
}

impl View {
    /// A log of these segments that is flushed completely.
    pub(in crate::storage::log) fn flushed_from(
        context: Arc<LogContext>,
        segments: Vec<Arc<Segment>>,
        log_start: Offset,
        log_end: Offset,
    ) -> Self {
        let offsets = Offsets::flushed_from(log_start, log_end);
        Self { context, offsets, segments: SegmentList::new(segments) }
    }

    /// The state shared by all parts of the log.
    pub(in crate::storage::log) fn context(&self) -> &Arc<LogContext> {
        &self.context
    }

    /// The first offset that can be read.
    pub(in crate::storage::log) fn log_start(&self) -> Offset {
        self.offsets.log_start()
    }

    /// The offset below which all records are durable.
    pub(in crate::storage::log) fn flushed(&self) -> Offset {
        self.offsets.flushed()
    }

    /// The offset that the next record will have.
    pub(in crate::storage::log) fn log_end(&self) -> Offset {
        self.offsets.log_end()
    }

    /// The rebuild point: indexes and producer snapshots on disk cover all records below it, so a
    /// restart reads only the records above it.
    pub(in crate::storage::log) fn rebuild(&self) -> Offset {
        self.offsets.rebuild()
    }

    /// The current segments.
    pub(in crate::storage::log) fn segments(&self) -> Segments {
        self.segments.snapshot()
    }

    /// Returns true if no segment was added, replaced or removed since the snapshot was taken.
    pub(in crate::storage::log) fn is_current(&self, segments: &Segments) -> bool {
        self.segments.is_current(segments)
    }
}
