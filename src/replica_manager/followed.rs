//! The partitions that this broker follows, by their leaders.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::HostPort;
use crate::engine::EngineState;
use crate::metadata::Caching;
use crate::replication::{Partition, Role};
use crate::types::{BrokerId, LeaderEpoch, PartitionKey};

/// The partitions that are fetched from one leader.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Followed {
    /// The address of the leader, if it is registered with one.
    pub(super) address: Option<HostPort>,
    /// The partitions.
    pub(super) partitions: BTreeMap<PartitionKey, FollowedPartition>,
}

/// A partition during one leader epoch, and while records count in the same way: once they count
/// only if they are flushed, the leader has to be told what is.
#[derive(Clone, Debug)]
pub(super) struct FollowedPartition {
    pub(super) partition: Arc<Partition>,
    pub(super) epoch: LeaderEpoch,
    pub(super) caching: Caching,
}

impl PartialEq for FollowedPartition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.partition, &other.partition)
            && (self.epoch, self.caching) == (other.epoch, other.caching)
    }
}

/// The partitions that this broker follows now, by their leaders, which are reached by the listener
/// with this name.
pub(super) fn followed(
    engine: &EngineState,
    listener: Option<&str>,
) -> BTreeMap<BrokerId, Followed> {
    let image = engine.image();
    let address = |leader| {
        let listener = image.broker(leader)?.listener(listener)?;
        Some(HostPort::new(listener.host.clone(), listener.port))
    };
    let mut by_leader: BTreeMap<BrokerId, Followed> = BTreeMap::new();
    for topic in engine.partitions.topics() {
        for partition in topic.partitions() {
            let Role::Follower { leader: Some(leader) } = partition.role() else { continue };
            let of_leader = by_leader
                .entry(leader)
                .or_insert_with(|| Followed { address: address(leader), ..Followed::default() });
            let followed = FollowedPartition {
                partition: Arc::clone(partition),
                epoch: partition.epoch(),
                caching: partition.caching(),
            };
            of_leader.partitions.insert(partition.key(), followed);
        }
    }
    by_leader
}
