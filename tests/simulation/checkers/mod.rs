//! The invariants, each judged by what clients hear and replicas hold.

mod group;
mod known_records;
mod leaders;
mod replicas;
mod violation;
mod watermarks;

use std::collections::BTreeMap;

use streamlog::types::{LeaderEpoch, Offset, PartitionIndex};

pub(crate) use group::Group;
use known_records::KnownRecords;
use leaders::Leaders;
pub(crate) use replicas::{Replica, Replicas};
pub(crate) use violation::Violation;
use watermarks::Watermarks;

/// The records of a partition by their offsets.
pub(crate) type Records = BTreeMap<i64, u64>;

/// All checkers of a run.
#[derive(Debug)]
pub(crate) struct Checkers {
    pub(crate) leaders: Leaders,
    pub(crate) watermarks: Watermarks,
    pub(crate) replicas: Replicas,
    pub(crate) group: Group,
    acknowledged: KnownRecords,
    exposed: KnownRecords,
}

/// The least that an answer may tell to a client that asks now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor {
    pub(crate) epoch: LeaderEpoch,
    pub(crate) watermark: Offset,
}

impl Default for Checkers {
    fn default() -> Self {
        Self {
            leaders: Leaders::default(),
            watermarks: Watermarks::default(),
            replicas: Replicas::default(),
            group: Group::default(),
            acknowledged: KnownRecords::acknowledged(),
            exposed: KnownRecords::exposed(),
        }
    }
}

impl Checkers {
    /// The least that the answer to a question of this moment may tell.
    pub(crate) fn floor(&self, partition: PartitionIndex) -> Floor {
        let (epoch, watermark) =
            (self.leaders.latest(partition), self.watermarks.latest(partition));
        Floor { epoch, watermark }
    }

    /// Takes an acknowledgement with `acks=all`.
    pub(crate) fn acknowledged(
        &mut self,
        partition: PartitionIndex,
        base: i64,
        values: &[u64],
    ) -> Result<(), Violation> {
        let records: Vec<_> = (base..).zip(values.iter().copied()).collect();
        self.acknowledged.add(partition, &records)?;
        self.exposed.agree(partition, &records)
    }

    /// Takes records that a consumer was shown.
    pub(crate) fn shown(
        &mut self,
        partition: PartitionIndex,
        records: &[(i64, u64)],
    ) -> Result<(), Violation> {
        self.exposed.add(partition, records)?;
        self.acknowledged.agree(partition, records)
    }

    /// Judges the log of a replica once all is repaired.
    pub(crate) fn kept(&self, partition: PartitionIndex, log: &Records) -> Result<(), Violation> {
        self.acknowledged.kept(partition, log)?;
        self.exposed.kept(partition, log)
    }
}
