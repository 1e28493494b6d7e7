//! Offsets that may be older than what their group has committed.
//!
//! Where the log is damaged, nobody knows which commits stood there. An offset is beyond doubt only
//! if it was committed behind the last damage; any other may have had a successor that is lost, and
//! an older one would lead a consumer over records it has done, or before them.

use std::collections::HashSet;

use crate::group::GroupId;
use crate::types::TopicPartition;

/// The offsets that damage has left in doubt.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Committed, or forgotten, behind the last damage; `None` while there is none.
    settled: Option<HashSet<(GroupId, TopicPartition)>>,
}

impl Doubt {
    /// Damage was met: whatever was read before may have been changed there.
    pub(super) fn raise(&mut self) {
        self.settled = Some(HashSet::new());
    }

    /// A person has given up what the damage held: what is known counts.
    pub(super) fn lift(&mut self) {
        self.settled = None;
    }

    /// An offset was stored or forgotten after all damage that was met.
    pub(super) fn settle(&mut self, group: &GroupId, partition: &TopicPartition) {
        if let Some(settled) = &mut self.settled {
            settled.insert((group.clone(), partition.clone()));
        }
    }

    /// Whether a group's offsets of these partitions, or all it has, may be older than what it has
    /// committed.
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
