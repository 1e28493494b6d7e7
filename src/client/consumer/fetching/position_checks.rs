//! The check that the log of a new leader still has the records before a position (KIP-320).
//!
//! No leader of streamlog loses a record that a consumer has read. But an operator may accept the
//! loss, a disk may be restored from an old copy, and brokers other than streamlog's may elect a
//! leader that lacks records. Without the check, a consumer would skip the new records that such a
//! leader stores at the same offsets.

use std::collections::HashMap;

use crate::client::ClientError;
use crate::client::cluster::{Brokers, Deadline, Role};
use crate::client::consumer::assignment::Slot;
use crate::client::consumer::fetch_buffer::Source;
use crate::client::consumer::losses::{Checked, RecordLoss};
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
    /// position was checked in this epoch already, or if the record before it is of the same epoch
    /// or of an unknown one.
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
    /// Asks the leader. If the broker refuses the request, the position counts as checked, since
    /// the broker may not support or not permit the request.
    ///
    /// # Errors
    /// Connection errors, and the errors of a broker that does not lead in that epoch.
    pub(super) async fn ask(
        &self,
        brokers: &Brokers,
        deadline: Deadline,
    ) -> Result<Checked, ClientError> {
        let (end, loss) = match self.end(brokers).await {
            Err(error) if error.remedy() == Remedy::Reject => return Ok(Checked::default()),
            answered => answered?,
        };
        let Some(end) = end.filter(|end| *end < self.source.position) else {
            return Ok(Checked { unchanged: None, loss });
        };
        let (begin, _) = log_range(brokers, deadline, &self.source.partition).await?;
        Ok(Checked { unchanged: Some(begin..end.max(begin)), loss })
    }

    /// Returns the end of the epoch in the leader's log; `None` if the log's history has no such
    /// epoch. Also returns the loss of records that were written up to this epoch, if there was
    /// one.
    async fn end(
        &self,
        brokers: &Brokers,
    ) -> Result<(Option<Offset>, Option<RecordLoss>), ClientError> {
        let partition = &self.source.partition;
        let leader = brokers.leader(&partition.topic, partition.partition).await?;
        let row = RequestPartition {
            partition: partition.partition.0,
            current_leader_epoch: self.leader_epoch.0,
            leader_epoch: self.epoch.0,
        };
        let topic = RequestTopic { topic: partition.topic.to_string(), partitions: vec![row] };
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics: vec![topic] };
        let answer = brokers.call_in_role(&leader, Role::leader(partition), &request).await?;
        let row = answer.topics.iter().flat_map(|topic| &topic.partitions).next();
        let missing = || ClientError::unreachable(&leader, "the response does not contain it");
        let row = row.ok_or_else(missing)?;
        ClientError::check(row.error_code, &partition.to_string(), None)?;
        let loss = Offset::checked(row.loss.from_offset).filter(|_| row.loss.generation > 0);
        let leader_epoch = LeaderEpoch(row.loss.leader_epoch);
        let loss = loss.map(|from| RecordLoss { from, leader_epoch });
        Ok((Offset::checked(row.end_offset), loss))
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
