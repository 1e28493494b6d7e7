//! The facts of a batch that matter to its producer's state, and the arithmetic of sequences.

use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

/// A batch as the producer state sees it, with the offsets it has or is about to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerBatch {
    /// Who sent it; `ProducerId::NONE` when the producer is not idempotent.
    pub producer_id: ProducerId,
    /// The sender's incarnation.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of its first record, or below zero when it has none, as a control batch.
    pub base_sequence: i32,
    /// Its records, at least one. Sequences count records even where offsets count bytes.
    pub record_count: i32,
    /// Where it is, or will be, in the log, and its time.
    pub appended: AppendedBatch,
}

/// Where a batch is in the log, and the time a produce answer reports for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendedBatch {
    /// Its first offset.
    pub base_offset: Offset,
    /// Its last offset, inclusive.
    pub last_offset: Offset,
    /// Its largest timestamp.
    pub max_timestamp: Timestamp,
}

impl ProducerBatch {
    /// Whether it takes part in duplicate detection at all.
    pub fn is_idempotent(&self) -> bool {
        self.producer_id != ProducerId::NONE
    }

    /// The sequence of its last record.
    pub(super) fn last_sequence(&self) -> i32 {
        sequence_after(self.base_sequence, self.record_count - 1)
    }
}

/// The sequence `count` records after `sequence`: after 2³¹ − 1 comes 0.
pub(super) fn sequence_after(sequence: i32, count: i32) -> i32 {
    debug_assert!(sequence >= 0 && count >= 0, "sequence {sequence} + {count}");
    // Both are below 2³¹, so one bit masked away is the wrap.
    sequence.wrapping_add(count) & i32::MAX
}
