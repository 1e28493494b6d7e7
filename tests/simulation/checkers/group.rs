//! The promises to the members of a group: a partition has one member in a generation, no former
//! generation commits, and no committed offset is lost.

use std::collections::BTreeMap;

use super::Violation;

/// The answers that members of the group have received.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The newest generation in which a member was assigned partitions.
    generation: i32,
    members: BTreeMap<(i32, i32), String>,
    committed: BTreeMap<i32, i64>,
}

/// The lowest values that an answer to a request sent now may contain.
#[derive(Clone, Debug)]
pub(crate) struct GroupFloor {
    generation: i32,
    committed: BTreeMap<i32, i64>,
}

impl GroupFloor {
    /// The same, for these partitions only.
    pub(crate) fn only(mut self, partitions: &[i32]) -> Self {
        self.committed.retain(|partition, _| partitions.contains(partition));
        self
    }

    /// Judges the offsets that a coordinator reports.
    pub(crate) fn judge(&self, offsets: &BTreeMap<i32, i64>) -> Result<(), Violation> {
        for (partition, least) in &self.committed {
            let told = offsets.get(partition).copied();
            if told.is_none_or(|told| told < *least) {
                let facts = format!("partition {partition}: {told:?} after {least}");
                return Err(Violation::new("a committed offset is never lost", facts));
            }
        }
        Ok(())
    }
}

impl Group {
    /// The lowest values that an answer to a request sent now may contain.
    pub(crate) fn floor(&self) -> GroupFloor {
        GroupFloor { generation: self.generation, committed: self.committed.clone() }
    }

    /// Takes the partitions that a member was assigned in a generation.
    pub(crate) fn assigned(
        &mut self,
        (generation, member): (i32, &str),
        partitions: &[i32],
        floor: &GroupFloor,
    ) -> Result<(), Violation> {
        if generation < floor.generation {
            let facts = format!("generation {generation} after {}", floor.generation);
            return Err(Violation::new("generations of a group rise", facts));
        }
        self.generation = self.generation.max(generation);
        for partition in partitions {
            let known = self.members.entry((generation, *partition));
            let known = known.or_insert_with(|| member.to_owned());
            if known != member {
                let facts = format!("{known} and {member} have partition {partition}");
                return Err(Violation::new("a partition has one member in a generation", facts));
            }
        }
        Ok(())
    }

    /// Takes offsets that were committed for a generation.
    pub(crate) fn committed(
        &mut self,
        generation: i32,
        offsets: &BTreeMap<i32, i64>,
        floor: &GroupFloor,
    ) -> Result<(), Violation> {
        if generation < floor.generation {
            let facts = format!("generation {generation} after {}", floor.generation);
            return Err(Violation::new("no former generation commits", facts));
        }
        // The answer may be late: the next generation may have committed higher offsets since.
        if generation == self.generation {
            self.committed.extend(offsets);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets<const N: usize>(offsets: [(i32, i64); N]) -> BTreeMap<i32, i64> {
        offsets.into()
    }

    #[test]
    fn a_generation_that_returns_is_a_violation() {
        let mut group = Group::default();
        let early = group.floor();
        group.assigned((2, "a"), &[0], &early).unwrap();
        // The answer to a question that was asked before may come late.
        group.assigned((1, "b"), &[0], &early).unwrap();
        let floor = group.floor();
        assert!(group.assigned((1, "c"), &[1], &floor).is_err());
    }

    #[test]
    fn two_members_with_one_partition_in_a_generation_are_a_violation() {
        let mut group = Group::default();
        let floor = group.floor();
        group.assigned((1, "a"), &[0], &floor).unwrap();
        group.assigned((1, "a"), &[0], &floor).unwrap();
        group.assigned((1, "b"), &[1], &floor).unwrap();
        assert!(group.assigned((1, "b"), &[0], &floor).is_err());
    }

    #[test]
    fn a_commit_of_a_former_generation_is_a_violation_if_it_was_sent_after_the_next() {
        let mut group = Group::default();
        let early = group.floor();
        group.assigned((2, "a"), &[0], &early).unwrap();
        group.committed(1, &offsets([(0, 9)]), &early).unwrap();
        group.floor().judge(&offsets([])).unwrap();
        let floor = group.floor();
        assert!(group.committed(1, &offsets([(0, 9)]), &floor).is_err());
    }

    #[test]
    fn a_lower_offset_than_the_last_committed_one_is_a_violation() {
        let mut group = Group::default();
        let early = group.floor();
        group.assigned((1, "a"), &[0, 1], &early).unwrap();
        group.committed(1, &offsets([(0, 5), (1, 7)]), &early).unwrap();
        let floor = group.floor();
        floor.judge(&offsets([(0, 5), (1, 8)])).unwrap();
        floor.clone().only(&[0]).judge(&offsets([(0, 5)])).unwrap();
        assert!(floor.judge(&offsets([(0, 4), (1, 7)])).is_err());
        assert!(floor.judge(&offsets([(1, 7)])).is_err());
    }
}
