//! Offsets that may be older than what their group has committed.
//!
//! A damaged part of the log may have held commits. An offset is certain only if it was committed
//! after the last damage. Any other may have been superseded by a lost commit, and resuming from it
//! would make a consumer repeat or skip records.

use std::collections::HashSet;

use crate::group::GroupId;
use crate::types::TopicPartition;

/// The offsets that are uncertain because of damage.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Offsets committed or deleted after the last damage; `None` while there is no damage.
    settled: Option<HashSet<(GroupId, TopicPartition)>>,
}

impl Doubt {
    /// Notes damage: it may have held changes to every offset read before.
    pub(super) fn raise(&mut self) {
        self.settled = Some(HashSet::new());
    }

    /// Clears the damage, which an operator has accepted: known offsets are valid again.
    pub(super) fn lift(&mut self) {
        self.settled = None;
    }

    /// Notes that an offset was stored or deleted after all known damage.
    pub(super) fn settle(&mut self, group: &GroupId, partition: &TopicPartition) {
        if let Some(settled) = &mut self.settled {
            settled.insert((group.clone(), partition.clone()));
        }
    }

    /// Returns true if any of a group's offsets of these partitions, or of all partitions, is
    /// uncertain.
    pub(super) fn is_of(&self, group: &GroupId, partitions: Option<&[TopicPartition]>) -> bool {
        let Some(settled) = &self.settled else { return false };
        let is_settled =
            |partition: &TopicPartition| settled.contains(&(group.clone(), partition.clone()));
        partitions.is_none_or(|partitions| !partitions.iter().all(is_settled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PartitionIndex;

    #[test]
    fn only_what_was_committed_behind_the_damage_is_beyond_doubt() {
        let partition = |number| TopicPartition {
            topic: "t".parse().unwrap(),
            partition: PartitionIndex(number),
        };
        let group = GroupId::from("g");
        let mut doubt = Doubt::default();
        doubt.settle(&group, &partition(0));
        assert!(!doubt.is_of(&group, None), "nothing is damaged");
        doubt.raise();
        assert!(doubt.is_of(&group, Some(&[partition(0)])), "it was committed before the damage");
        doubt.settle(&group, &partition(1));
        assert!(!doubt.is_of(&group, Some(&[partition(1)])));
        assert!(doubt.is_of(&group, Some(&[partition(0), partition(1)])));
        assert!(doubt.is_of(&GroupId::from("h"), Some(&[partition(1)])));
        assert!(doubt.is_of(&group, None), "there may be partitions that nobody knows of");
        assert!(!doubt.is_of(&group, Some(&[])));
        doubt.lift();
        assert!(!doubt.is_of(&group, None));
    }
}
