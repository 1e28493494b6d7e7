//! The inputs of a partition: its logs, its identity, its assignment.

use std::sync::Arc;

use crate::metadata::{Incarnation, Lease};
use crate::replication::InSyncState;
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
