//! The replicated offsets of a group.

use std::collections::BTreeMap;

use crate::group::CommittedOffset;
use crate::types::TopicPartition;

/// The replicated offsets of a group, by partition.
#[derive(Default)]
pub(super) struct CommittedOffsets {
    by_partition: BTreeMap<TopicPartition, CommittedOffset>,
}

impl CommittedOffsets {
    /// Stores the offset of a partition, or deletes it.
    pub(super) fn set(&mut self, partition: TopicPartition, value: Option<CommittedOffset>) {
        match value {
            Some(value) => self.by_partition.insert(partition, value),
            None => self.by_partition.remove(&partition),
        };
    }

    /// The offset of a partition.
    pub(super) fn get(&self, partition: &TopicPartition) -> Option<&CommittedOffset> {
        self.by_partition.get(partition)
    }

    /// All offsets, by partition.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&TopicPartition, &CommittedOffset)> {
        self.by_partition.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.by_partition.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_partition.is_empty()
    }
}
