//! The conditions under which this broker answers requests to a partition.

use std::time::Duration;

use crate::replication::role::Current;
use crate::replication::{NotLeading, Partition, PartitionError, Target};
use crate::types::LeaderEpoch;

impl Partition {
    /// Returns an error if the partition has stopped, or another broker leads it.
    pub fn check_running(&self) -> Result<(), PartitionError> {
        self.current().check_leading()
    }

    /// Refuses a caller whose leader epoch differs from the current one. A caller that names no
    /// epoch is accepted.
    ///
    /// # Errors
    /// `FencedEpoch` or `UnknownEpoch`, and those of [`Partition::check_running`].
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
        self.current().check_minimum()
    }

    /// Returns true if this broker leads, but other replicas may return with more records (rule
    /// R21 in docs/replication.md).
    pub fn is_unvouched(&self) -> bool {
        let current = self.current();
        current.check_leading().is_ok() && current.is_unvouched
    }

    /// Returns an error if no answer may be written to a client now (rule R6 in
    /// docs/replication.md): another broker leads or may lead. An earlier leader may not know yet
    /// that this broker was elected, and this broker may not know yet that a later leader was.
    /// Followers are answered nevertheless: leader epochs protect them.
    ///
    /// # Errors
    /// `Stopped`. `NotLeader` if another broker leads, this one has neither a lease nor proof, or
    /// it is a new leader that is still silent.
    pub fn check_may_answer(&self) -> Result<(), PartitionError> {
        let current = self.current();
        current.check_leading()?;
        self.check_alone(&current)
    }

    /// Like [`Partition::check_may_answer`], for an answer that was decided in leader epoch
    /// `epoch`.
    ///
    /// # Errors
    /// Those of [`Partition::check_may_answer`], and `EpochEnded` if that epoch is over.
    pub fn check_may_answer_in(&self, epoch: LeaderEpoch) -> Result<(), PartitionError> {
        let current = self.current();
        current.check_goes_on(epoch)?;
        self.check_alone(&current)
    }

    /// The leader epoch in which records are appended for a client that can be answered now.
    ///
    /// # Errors
    /// Those of [`Partition::check_may_answer`].
    pub fn answerable_epoch(&self) -> Result<LeaderEpoch, PartitionError> {
        let current = self.current();
        current.check_leading()?;
        self.check_alone(&current)?;
        Ok(current.epoch)
    }

    /// Returns true if `target` has been reached, so that its producer can be answered now. Of
    /// committed records it can be told by a broker that no longer leads, or may not answer anybody
    /// else: they stay committed, and a producer that heard of an error would send them again.
    ///
    /// # Errors
    /// If the records are not committed, and their leader epoch is over or the partition has
    /// stopped. Those of [`Partition::check_may_answer_in`].
    pub fn may_acknowledge(&self, target: Target) -> Result<bool, PartitionError> {
        let reached = self.reached();
        let current = self.current();
        if current.has_committed(target, reached) {
            return Ok(true);
        }
        current.check_goes_on(target.epoch)?;
        self.check_alone(&current)?;
        Ok(target.is_reached(reached))
    }

    /// Fails if another broker may answer as the leader too: an earlier leader that does not know
    /// of this one yet, or a later leader that this one does not know of yet.
    fn check_alone(&self, current: &Current) -> Result<(), PartitionError> {
        let Some(lease) = &current.lease else { return Ok(()) };
        let now = lease.now();
        if now < current.silent_until {
            return Err(PartitionError::NotLeader(NotLeading::Silent));
        }
        // Proof helps while the store is silent, not after the store has said that the session has
        // ended.
        let is_proved = || !lease.has_ended() && self.has_proof(current, now);
        if self.rules().may_answer(lease.is_held(), is_proved) {
            return Ok(());
        }
        Err(PartitionError::NotLeader(NotLeading::NoLease))
    }

    fn has_proof(&self, current: &Current, now: Duration) -> bool {
        let leadership = self.lock_leadership();
        let leader = leadership.leader.as_ref().filter(|leader| leader.epoch() == current.epoch);
        leader.is_some_and(|leader| leader.has_proof(now))
    }

    /// Wakes the requests that wait for this partition: without a lease, some may be refused now.
    pub fn lease_ended(&self) {
        self.waiting().remind_all();
    }
}
