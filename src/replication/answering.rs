//! The conditions under which this broker answers requests to a partition.

use crate::replication::{Partition, PartitionError};
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
}
