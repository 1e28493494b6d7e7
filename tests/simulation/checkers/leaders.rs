//! I31: in each leader epoch one incarnation answers clients, and of two questions that do not
//! overlap, the later one is not answered by an earlier leader.

use std::collections::BTreeMap;

use streamlog::types::{BrokerId, LeaderEpoch, PartitionIndex};

use super::Violation;

const INVARIANT: &str = "one leader answers at a time";

/// The leaders that have answered.
#[derive(Debug, Default)]
pub(crate) struct Leaders {
    /// The broker and its incarnation, by partition and epoch.
    answered: BTreeMap<(PartitionIndex, LeaderEpoch), (BrokerId, i64)>,
    /// The latest epoch of which a client has heard.
    latest: BTreeMap<PartitionIndex, LeaderEpoch>,
}

impl Leaders {
    /// The latest epoch of which a client has heard.
    pub(crate) fn latest(&self, partition: PartitionIndex) -> LeaderEpoch {
        self.latest.get(&partition).copied().unwrap_or(LeaderEpoch::NONE)
    }

    /// Takes an answer as it is given.
    pub(crate) fn answers(
        &mut self,
        term: (PartitionIndex, LeaderEpoch),
        leader: (BrokerId, i64),
    ) -> Result<(), Violation> {
        let known = *self.answered.entry(term).or_insert(leader);
        if known == leader {
            return Ok(());
        }
        Err(Violation::new(INVARIANT, format!("{term:?}: {known:?} and {leader:?}")))
    }

    /// Takes an answer as it arrives. `floor` is the latest epoch of which a client had heard when
    /// the question was sent.
    pub(crate) fn heard(
        &mut self,
        (partition, epoch): (PartitionIndex, LeaderEpoch),
        floor: LeaderEpoch,
    ) -> Result<(), Violation> {
        if epoch < floor {
            let facts = format!("{partition:?} is answered in epoch {epoch} after {floor}");
            return Err(Violation::new(INVARIANT, facts));
        }
        let latest = self.latest.entry(partition).or_insert(epoch);
        *latest = (*latest).max(epoch);
        Ok(())
    }
}
