//! The list of a log's segments, of which readers take snapshots without a lock.

use std::ops::Deref;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::storage::segments::Segment;
use crate::types::Offset;

/// The segments of a log at some moment, by rising base offset. Only the last one grows.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Segments(Arc<Vec<Arc<Segment>>>);

/// The list of a log's segments. Readers take snapshots, without a lock.
#[derive(Debug)]
pub(super) struct SegmentList {
    current: ArcSwap<Vec<Arc<Segment>>>,
}

impl Deref for Segments {
    type Target = [Arc<Segment>];

    fn deref(&self) -> &[Arc<Segment>] {
        &self.0
    }
}

impl Segments {
    /// The number of the last segment that begins at or before an offset, or 0 if none does. If a
    /// segment contains the offset, it is this one.
    pub(in crate::storage::log) fn number_of(&self, offset: Offset) -> usize {
        self.partition_point(|segment| segment.base() <= offset).saturating_sub(1)
    }

    /// The number of `segment` itself; `None` if it was replaced or removed.
    pub(in crate::storage::log) fn position_of(&self, segment: &Arc<Segment>) -> Option<usize> {
        self.iter().position(|other| Arc::ptr_eq(other, segment))
    }

    /// The offset at which the segment after segment `number` begins; `None` for the last segment.
    pub(in crate::storage::log) fn next_base(&self, number: usize) -> Option<Offset> {
        self.get(number + 1).map(|next| next.base())
    }
}

impl SegmentList {
    /// A list of these segments.
    pub(super) fn new(segments: Vec<Arc<Segment>>) -> Self {
        Self { current: ArcSwap::from_pointee(segments) }
    }

    /// The current segments.
    pub(super) fn snapshot(&self) -> Segments {
        Segments(self.current.load_full())
    }

    /// Returns true if nothing was changed since the snapshot was taken.
    pub(super) fn is_current(&self, snapshot: &Segments) -> bool {
        Arc::ptr_eq(&snapshot.0, &self.current.load())
    }

    /// Replaces all segments.
    pub(super) fn set(&self, segments: Vec<Arc<Segment>>) {
        self.current.store(Arc::new(segments));
    }

    /// Adds a segment at the end.
    pub(super) fn push(&self, segment: Arc<Segment>) {
        let mut segments = self.snapshot().to_vec();
        segments.push(segment);
        self.set(segments);
    }

    /// Removes `segment`, which must be the first.
    pub(super) fn remove_first(&self, segment: &Arc<Segment>) {
        let mut segments = self.snapshot().to_vec();
        assert!(Arc::ptr_eq(&segments[0], segment), "only retention removes the first segment");
        segments.remove(0);
        self.set(segments);
    }

    /// Puts `replacement` in the place of neighbouring segments.
    pub(super) fn replace(&self, replaced: &[Arc<Segment>], replacement: Arc<Segment>) {
        let mut segments = self.snapshot().to_vec();
        let first = replaced.first().map_or(replacement.base(), |first| first.base());
        let place = segments.partition_point(|segment| segment.base() < first);
        let old: Vec<_> = segments.splice(place..place + replaced.len(), [replacement]).collect();
        let are_same = old.iter().zip(replaced).all(|(old, known)| Arc::ptr_eq(old, known));
        assert!(are_same, "{} segments from {first} on were not held", replaced.len());
        self.set(segments);
    }
}
