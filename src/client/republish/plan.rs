//! What is to be copied: which batches of a staged partition, and where they come to lie.

use super::stamp::Stamp;
use crate::record::Batch;
use crate::types::{Offset, ProducerId, TopicPartition};

/// What one producer staged in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedPart {
    /// The id that its batches bear.
    pub producer: ProducerId,
    /// Base offset of the first batch.
    pub first: Offset,
    /// Base offset of the last batch.
    pub last: Offset,
    /// Records in all of them.
    pub records: u64,
}

/// A partition to be copied, or the rest of it.
#[derive(Clone, Debug)]
pub struct Republication {
    /// Where the records are.
    pub staged: TopicPartition,
    /// Which of them are meant.
    pub parts: Vec<StagedPart>,
    /// Where they go.
    pub target: TopicPartition,
    /// What the first of them is stamped with there.
    pub stamp: Stamp,
    /// Records that are there already: the first so many. A batch that they end within is sent
    /// again.
    pub done: u64,
    /// After so many batches the copy stops.
    pub batches_max: u64,
}

impl Republication {
    /// Records of all parts.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.records).sum()
    }

    /// The base offsets of the first and the last batch, unless there is none.
    pub(super) fn bounds(&self) -> Option<(Offset, Offset)> {
        let first = self.parts.iter().map(|part| part.first).min()?;
        let last = self.parts.iter().map(|part| part.last).max()?;
        Some((first, last))
    }

    /// Whether a batch of the staged partition is one of those to be copied.
    pub(super) fn includes(&self, batch: &Batch<'_>) -> bool {
        let Some(stamp) = batch.producer() else { return false };
        let offset = batch.base_offset();
        let has = |part: &StagedPart| {
            part.producer == stamp.id && (part.first..=part.last).contains(&offset)
        };
        self.parts.iter().any(has)
    }
}
