//! Offsets that may be older than those committed by their group.
//!
//! A damaged part of the log may have held commits. An offset is certain only if it was committed
//! after the last damage. Any other may have been superseded by a lost commit, and resuming from it
//! would make a consumer repeat or skip records.

use std::collections::HashSet;

use crate::group::GroupId;
use crate::types::TopicPartition;

/// The offsets that are uncertain because of damage.
#[derive(Debug, Default)]
pub(super) struct UncertainOffsets {
    /// Offsets committed or deleted after the last damage; `None` while there is no damage.
    certain: Option<HashSet<(GroupId, TopicPartition)>>,
}

impl UncertainOffsets {
    /// Notes damage: it may have held changes to every offset read before.
    pub(super) fn note_damage(&mut self) {
        self.certain = Some(HashSet::new());
    }

    /// Clears the damage, which an operator has accepted: known offsets are valid again.
    pub(super) fn clear(&mut self) {
        self.certain = None;
    }

    /// Notes that an offset was stored or deleted after all known damage.
    pub(super) fn note_write(&mut self, group: &GroupId, partition: &TopicPartition) {
        if let Some(certain) = &mut self.certain {
            certain.insert((group.clone(), partition.clone()));
        }
    }

    /// Returns true if any of a group's offsets of these partitions is uncertain. Without a list of
    /// partitions, any damage counts, since it may have held a commit for any partition.
    pub(super) fn contains(&self, group: &GroupId, partitions: Option<&[TopicPartition]>) -> bool {
        let Some(certain) = &self.certain else { return false };
        let is_certain =
            |partition: &TopicPartition| certain.contains(&(group.clone(), partition.clone()));
        partitions.is_none_or(|partitions| !partitions.iter().all(is_certain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PartitionIndex;

    #[test]
    fn only_offsets_committed_after_the_damage_are_certain() {
        let partition = |number| TopicPartition {
            topic: "t".parse().unwrap(),
            partition: PartitionIndex(number),
        };
        let group = GroupId::from("g");
        let mut uncertain = UncertainOffsets::default();
        uncertain.note_write(&group, &partition(0));
        assert!(!uncertain.contains(&group, None), "nothing is damaged");
        uncertain.note_damage();
        assert!(
            uncertain.contains(&group, Some(&[partition(0)])),
            "it was committed before the damage"
        );
        uncertain.note_write(&group, &partition(1));
        assert!(!uncertain.contains(&group, Some(&[partition(1)])));
        assert!(uncertain.contains(&group, Some(&[partition(0), partition(1)])));
        assert!(uncertain.contains(&GroupId::from("h"), Some(&[partition(1)])));
        assert!(uncertain.contains(&group, None), "there may be partitions that nobody knows of");
        assert!(!uncertain.contains(&group, Some(&[])));
        uncertain.clear();
        assert!(!uncertain.contains(&group, None));
    }
}
