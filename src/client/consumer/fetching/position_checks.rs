//! The check that the log of a new leader still has the records before a position (KIP-320).
//!
//! No leader of streamlog loses a record that was shown to a consumer; but an operator may accept
//! the loss, a disk may be restored from a copy, and other brokers elect leaders that lack records.
//! Without the check, a consumer would skip what is then written at the same offsets.

use std::collections::HashMap;
use std::ops::Range;

use crate::client::ClientError;
use crate::client::cluster::{Brokers, Deadline};
use crate::client::consumer::assignment::Slot;
use crate::client::consumer::fetch_buffer::Source;
use crate::client::error::Remedy;
use crate::client::offsets::log_range;
use crate::types::{LeaderEpoch, Offset};
use crate::wire::OffsetForLeaderEpochRequest;
use crate::wire::offset_for_leader_epoch::{RequestPartition, RequestTopic};

/// The leader epochs in which positions were last checked, by slot, with the slots' generations.
#[derive(Debug, Default)]
pub(super) struct PositionChecks(HashMap<usize, (u32, LeaderEpoch)>);

/// A position to check.
#[derive(Clone, Debug)]
pub(super) struct PositionCheck {
    /// The position.
    pub(super) source: Source,
    /// The epoch of the record before the position.
    epoch: LeaderEpoch,
    /// The epoch of the leader to ask.
    leader_epoch: LeaderEpoch,
}

impl PositionChecks {
    /// The check that is due before a position is fetched in a leader epoch. None is due if the
    /// record before it is of the same epoch, or of an unknown one.
    pub(super) fn due(
        &self,
        slot: &Slot,
        source: &Source,
        leader_epoch: LeaderEpoch,
    ) -> Option<PositionCheck> {
        let epoch = slot.epochs.before(source.position);
        let is_checked = self.0.get(&source.slot) == Some(&(source.generation, leader_epoch));
        let is_due = epoch != LeaderEpoch::NONE && epoch < leader_epoch && !is_checked;
        is_due.then(|| PositionCheck { source: source.clone(), epoch, leader_epoch })
    }

    /// Notes that the leader has the records before the position.
    pub(super) fn passed(&mut self, check: &PositionCheck) {
        let checked = (check.source.generation, check.leader_epoch);
        self.0.insert(check.source.slot, checked);
    }
}

impl PositionCheck {
    /// Asks the leader, and returns the offsets of its log up to where it differs from what was
    /// read, if that is before the position. A broker that may not or cannot tell has no say.
    ///
    /// # Errors
    /// Those of the connection, and of a broker that does not lead in that epoch.
    pub(super) async fn ask(
        &self,
        brokers: &Brokers,
        deadline: Deadline,
    ) -> Result<Option<Range<Offset>>, ClientError> {
        let end = match self.end(brokers).await {
            Err(error) if error.remedy() == Remedy::Reject => return Ok(None),
            end => end?.filter(|end| *end < self.source.position),
        };
        let Some(end) = end else { return Ok(None) };
        let (begin, _) = log_range(brokers, deadline, &self.source.partition).await?;
        Ok(Some(begin..end.max(begin)))
    }

    /// The end of the epoch in the leader's log; `None` if its history has no such epoch.
    async fn end(&self, brokers: &Brokers) -> Result<Option<Offset>, ClientError> {
        let partition = &self.source.partition;
        let leader = brokers.leader(&partition.topic, partition.partition).await?;
        let row = RequestPartition {
            partition: partition.partition.0,
            current_leader_epoch: self.leader_epoch.0,
            leader_epoch: self.epoch.0,
        };
        let topic = RequestTopic { topic: partition.topic.to_string(), partitions: vec![row] };
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics: vec![topic] };
        let answer = brokers.call(&leader, &request).await?;
        let row = answer.topics.iter().flat_map(|topic| &topic.partitions).next();
        let missing = || ClientError::unreachable(&leader, "the response does not contain it");
        let row = row.ok_or_else(missing)?;
        ClientError::check(row.error_code, &partition.to_string(), None)?;
        Ok(Offset::checked(row.end_offset))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::client::consumer::assignment::Assignment;
    use crate::client::consumer::config::Start;
    use crate::types::{PartitionIndex, TopicPartition};

    /// A slot at offset 8, with the epoch that was committed with this offset.
    fn slot(committed: i32) -> Slot {
        let topic = "t".parse().unwrap();
        let partition = TopicPartition { topic, partition: PartitionIndex(0) };
        let epochs = BTreeMap::from([(partition.clone(), LeaderEpoch(committed))]);
        let assignment = Assignment::default();
        assignment.replace(vec![(partition, Start::Offset(Offset::new(8)))], &epochs);
        assignment.snapshot().remove(0)
    }

    #[test]
    fn a_position_is_checked_once_in_each_later_epoch() {
        let (slot, mut checks) = (slot(3), PositionChecks::default());
        let source = slot.source(0, Offset::new(8));
        assert!(checks.due(&slot, &source, LeaderEpoch(3)).is_none());
        for epoch in [4, 6] {
            let check = checks.due(&slot, &source, LeaderEpoch(epoch)).unwrap();
            assert_eq!((check.epoch, check.leader_epoch), (LeaderEpoch(3), LeaderEpoch(epoch)));
            assert!(checks.due(&slot, &source, LeaderEpoch(epoch)).is_some());
            checks.passed(&check);
            assert!(checks.due(&slot, &source, LeaderEpoch(epoch)).is_none());
        }
        let sought = Source { generation: slot.generation + 1, ..source };
        assert!(checks.due(&slot, &sought, LeaderEpoch(6)).is_some());
    }

    #[test]
    fn without_a_known_epoch_there_is_nothing_to_check() {
        let (slot, checks) = (slot(-1), PositionChecks::default());
        let source = slot.source(0, Offset::new(8));
        assert!(checks.due(&slot, &source, LeaderEpoch(6)).is_none());
    }
}
