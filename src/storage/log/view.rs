//! The part of a log that readers use without a lock.

use std::sync::Arc;

use crate::storage::log::offsets::Offsets;
use crate::storage::log::segment_list::SegmentList;
use crate::storage::segments::LogContext;

/// A log's bounds and segments, as readers see them. Only the tail changes them, under its lock.
#[derive(Debug)]
pub(super) struct View {
    pub(super) context: Arc<LogContext>,
    pub(super) offsets: Offsets,
    pub(super) segments: SegmentList,
}
