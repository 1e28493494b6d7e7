//! The inputs of a partition: its logs, its identity, its assignment.

use std::sync::Arc;

use crate::metadata::{Incarnation, Lease, Partition as PartitionImage};
use crate::replication::{InSyncState, Rules};
use crate::storage::{DataDir, Flusher, LogConfig, Upkeep};
use crate::types::{BrokerId, LeaderEpoch, TopicId, TopicPartition};

/// The logs of this broker, with the services that flush and maintain them.
#[derive(Clone)]
pub struct LocalLogs {
    /// The data directory.
    pub data: Arc<DataDir>,
    /// Its flusher.
    pub flusher: Arc<Flusher>,
    /// The thread that writes checkpoints and applies retention.
    pub upkeep: Arc<Upkeep>,
}

/// The identity and settings of a new partition.
#[derive(Clone, Debug)]
pub struct PartitionSpec {
    /// The topic name and partition number.
    pub partition: TopicPartition,
    /// The topic id; data of another id is not touched.
    pub topic_id: TopicId,
    /// This broker.
    pub broker: BrokerId,
    /// The topic configuration.
    pub config: Arc<LogConfig>,
    /// The rules of replication in force: all of them, except in tests.
    pub rules: Rules,
}

/// The state of a partition from which a replica derives its role.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The leader epoch; `NONE` before the first.
    pub epoch: LeaderEpoch,
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// The incarnation that was elected.
    pub leader_incarnation: Incarnation,
    /// The incarnation of this broker.
    pub incarnation: Incarnation,
    /// The lease under which this broker leads; `None` for a partition with a single replica, which
    /// no other broker can lead.
    pub lease: Option<Arc<Lease>>,
    /// The in-sync replicas.
    pub in_sync: InSyncState,
}

impl Assignment {
    /// The assignment of a partition for a broker of this incarnation, without a lease.
    pub fn of(partition: &PartitionImage, incarnation: Incarnation, config: &LogConfig) -> Self {
        let replicas = partition.replicas.len();
        let state = partition.state.as_ref();
        Self {
            epoch: partition.leader_epoch(),
            leader: partition.leader(),
            leader_incarnation: state
                .map_or(Incarnation::UNKNOWN, |state| state.leader_incarnation),
            incarnation,
            lease: None,
            in_sync: InSyncState {
                members: partition.isr().to_vec(),
                // The state's own: the controller keeps eligible replicas by it.
                minimum: state
                    .and_then(|state| state.minimum)
                    .unwrap_or_else(|| config.min_insync_replicas(replicas).min(replicas)),
                version: state.map_or(0, |state| state.version),
            },
        }
    }
}
