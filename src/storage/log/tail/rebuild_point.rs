//! The point up to which a restart need not rebuild indexes and producer states.

use std::sync::Arc;

use crate::storage::ProducerStates;
use crate::storage::log::tail::log_tail::Tail;
use crate::storage::log::tail::state::State;
use crate::storage::segments::{HeaderDigest, Seal, Segment};
use crate::types::Offset;

/// The state of a log at a rebuild point that is about to be written.
#[derive(Debug)]
pub(in crate::storage::log) struct RebuildPoint {
    /// The log end at that moment.
    pub(in crate::storage::log) offset: Offset,
    pub(in crate::storage::log) active: Arc<Segment>,
    /// The facts about the active segment so far.
    pub(in crate::storage::log) seal: Seal,
    /// The digests of the active segment so far; none if no batch was added since the last rebuild
    /// point.
    pub(in crate::storage::log) digests: Vec<HeaderDigest>,
    pub(in crate::storage::log) producers: ProducerStates,
    /// The rolled segments without a written seal.
    pub(in crate::storage::log) unsealed: Vec<Arc<Segment>>,
    generation: u64,
    bytes: u64,
}

impl Tail {
    /// Returns true if enough was appended for the rebuild point to advance, or a segment was
    /// rolled.
    pub(in crate::storage::log) fn is_rebuild_point_due(&self) -> bool {
        let is_written = !matches!(self.state, State::Abandoned | State::HalfTruncated(_));
        is_written && self.unrecorded.is_enough()
    }

    /// The state to write for a rebuild point at the log end; `None` without an active segment.
    pub(in crate::storage::log) fn begin_rebuild_point(&mut self) -> Option<RebuildPoint> {
        let offset = self.next_offset;
        let active = self.active.as_mut()?;
        let digests = active.digests.grown().unwrap_or_default();
        let seal = Seal {
            sealed_at: self.view.context.clock.now(),
            max_timestamp: active.indexer.max_timestamp(),
            next_offset: offset,
            size: active.size,
        };
        Some(RebuildPoint {
            offset,
            active: Arc::clone(&active.segment),
            seal,
            digests,
            producers: self.producers.clone(),
            unsealed: self.unrecorded.segments().to_vec(),
            generation: self.generation,
            bytes: self.unrecorded.take_bytes(),
        })
    }

    /// Returns true if the active segment at the rebuild point is still active, and was not
    /// truncated.
    pub(in crate::storage::log) fn still_grows_from(&self, point: &RebuildPoint) -> bool {
        self.generation == point.generation && self.active(&point.active).is_some()
    }

    /// Publishes a rebuild point that was written.
    pub(in crate::storage::log) fn publish_rebuild_point(&mut self, point: &RebuildPoint) {
        point.unsealed.iter().for_each(|sealed| self.unrecorded.forget_segment(sealed));
        if self.generation == point.generation {
            self.view.offsets.set_rebuild(point.offset);
        }
    }

    /// Gives up a rebuild point that could not be written.
    pub(in crate::storage::log) fn give_up_rebuild_point(&mut self, point: &RebuildPoint) {
        self.unrecorded.add_bytes(point.bytes);
    }
}
