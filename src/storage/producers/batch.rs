//! The facts of a batch that matter to its producer's state, and sequence arithmetic.

use crate::record::BatchSummary;
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

/// A batch for the producer state, with the offsets it has or will get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerBatch {
    /// The producer; `ProducerId::NONE` if it is not idempotent.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of its first record, or negative if it has none, like a control batch.
    pub base_sequence: i32,
    /// The number of its records, at least 1. Sequences count records even if offsets count bytes.
    pub record_count: i32,
    /// Its position in the log, and its timestamp.
    pub appended: AppendedBatch,
}

/// The position of a batch in the log, and the timestamp that a produce response reports for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendedBatch {
    /// Its first offset.
    pub base_offset: Offset,
    /// Its last offset, inclusive.
    pub last_offset: Offset,
    /// Its largest timestamp.
    pub max_timestamp: Timestamp,
}

impl From<&BatchSummary> for ProducerBatch {
    fn from(summary: &BatchSummary) -> Self {
        let stamp = summary.producer;
        Self {
            producer_id: stamp.map_or(ProducerId::NONE, |stamp| stamp.id),
            producer_epoch: stamp.map_or(ProducerEpoch(-1), |stamp| stamp.epoch),
            base_sequence: stamp.map_or(-1, |stamp| stamp.base_sequence),
            record_count: i32::try_from(summary.record_count.max(1)).unwrap_or(i32::MAX),
            appended: AppendedBatch {
                base_offset: summary.base_offset,
                last_offset: summary.last_offset,
                max_timestamp: summary.max_timestamp,
            },
        }
    }
}

impl ProducerBatch {
    /// Returns true if it takes part in duplicate detection at all.
    pub fn is_idempotent(&self) -> bool {
        self.producer_id != ProducerId::NONE
    }

    /// The sequence of its last record.
    pub(super) fn last_sequence(&self) -> i32 {
        sequence_after(self.base_sequence, self.record_count - 1)
    }
}

/// The sequence `count` records after `sequence`; 2³¹ − 1 is followed by 0.
pub(super) fn sequence_after(sequence: i32, count: i32) -> i32 {
    debug_assert!(sequence >= 0 && count >= 0, "sequence {sequence} + {count}");
    // Both are below 2³¹, so clearing the sign bit wraps the sum around.
    sequence.wrapping_add(count) & i32::MAX
}
