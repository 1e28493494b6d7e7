//! The plan of a copy: the batches of a staged partition, and their place in the target.

use super::stamp::Stamp;
use crate::record::Batch;
use crate::types::{Offset, ProducerId, TopicPartition};

/// The batches that one producer staged in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedPart {
    /// The producer id in the batches.
    pub producer: ProducerId,
    /// Base offset of the first batch.
    pub first: Offset,
    /// Base offset of the last batch.
    pub last: Offset,
    /// Records in all batches together.
    pub records: u64,
}

/// A partition to copy, or the rest of it.
#[derive(Clone, Debug)]
pub struct Republication {
    /// The staged partition.
    pub staged: TopicPartition,
    /// The parts of it that are copied.
    pub parts: Vec<StagedPart>,
    /// The target partition.
    pub target: TopicPartition,
    /// The stamp of the first record in the target.
    pub stamp: Stamp,
    /// The number of leading records that the target has already. A batch that reaches beyond them
    /// is sent again.
    pub done: u64,
    /// The maximum number of batches to copy.
    pub batches_max: u64,
}

impl Republication {
    /// The total number of records.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.records).sum()
    }

    /// The base offsets of the first and the last batch; `None` without parts.
    pub(super) fn bounds(&self) -> Option<(Offset, Offset)> {
        let first = self.parts.iter().map(|part| part.first).min()?;
        let last = self.parts.iter().map(|part| part.last).max()?;
        Some((first, last))
    }

    /// Returns true if the plan includes this batch of the staged partition.
    pub(super) fn includes(&self, batch: &Batch<'_>) -> bool {
        let Some(stamp) = batch.producer() else { return false };
        let offset = batch.base_offset();
        let has = |part: &StagedPart| {
            part.producer == stamp.id && (part.first..=part.last).contains(&offset)
        };
        self.parts.iter().any(has)
    }
}
