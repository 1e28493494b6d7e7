//! The conditions under which this broker answers requests to a partition.

use crate::replication::{Partition, PartitionError, Target};
use crate::types::LeaderEpoch;

impl Partition {
    /// Returns an error if the partition has stopped, or another broker leads it.
    pub fn check_running(&self) -> Result<(), PartitionError> {
        self.current().check_leading()
    }

    /// Refuses a caller whose leader epoch differs; a caller that names none is accepted.
    ///
    /// # Errors
    /// Also if this broker does not lead.
    pub fn check_epoch(&self, asked: LeaderEpoch) -> Result<(), PartitionError> {
        let current = self.current();
        if asked == LeaderEpoch::NONE {
            current.check_leading()
        } else {
            current.check_leading_in(asked)
        }
    }

    /// Refuses records with `acks=all` while too few replicas are in sync.
    ///
    /// # Errors
    /// `NotEnoughReplicas`, with the numbers.
    pub fn check_minimum(&self) -> Result<(), PartitionError> {
        self.current().check_minimum(false)
    }

    /// Refuses an answer to a client that is about to be written, if another broker leads, or may
    /// lead already (R6a). Followers are answered without a lease: leader epochs protect them.
    ///
    /// # Errors
    /// `NotLeader`, also without the lease.
    pub fn check_may_answer(&self) -> Result<(), PartitionError> {
        let current = self.current();
        current.check_leading()?;
        current.check_lease()
    }

    /// As [`Partition::check_may_answer`], for an answer that was decided in a leader epoch.
    ///
    /// # Errors
    /// Also if that epoch is over.
    pub fn check_may_answer_in(&self, epoch: LeaderEpoch) -> Result<(), PartitionError> {
        let current = self.current();
        current.check_goes_on(epoch)?;
        current.check_lease()
    }

    /// The leader epoch in which records are appended for a client that can be answered now.
    ///
    /// # Errors
    /// Those of [`Partition::check_may_answer`].
    pub fn answerable_epoch(&self) -> Result<LeaderEpoch, PartitionError> {
        let current = self.current();
        current.check_leading()?;
        current.check_lease()?;
        Ok(current.epoch)
    }

    /// As [`Partition::is_covered`], for a producer that would be answered now.
    ///
    /// # Errors
    /// Also those of [`Partition::check_may_answer_in`].
    pub fn may_acknowledge(&self, target: Target) -> Result<bool, PartitionError> {
        let reached = self.reached();
        let current = self.current();
        current.check_goes_on(target.epoch)?;
        current.check_lease()?;
        current.covers(target, reached)
    }

    /// Wakes the requests that wait for this partition: the lease has ended, and they are refused.
    pub fn lease_ended(&self) {
        self.waiting().remind_all();
    }
}
