//! The inputs from which a partition is built.

use std::sync::Arc;

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
    /// The leader epoch in which this broker leads.
    pub epoch: LeaderEpoch,
    /// The in-sync replicas, this broker included.
    pub in_sync: Vec<BrokerId>,
    /// The number of assigned replicas.
    pub replicas: usize,
    /// The topic configuration.
    pub config: Arc<LogConfig>,
}
