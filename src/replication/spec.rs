//! The parts a partition is made of.

use std::sync::Arc;

use crate::storage::{DataDir, Flusher, LogConfig, Upkeep};
use crate::types::{BrokerId, LeaderEpoch, TopicId, TopicPartition};

/// Where the logs of this broker are, and who flushes them.
#[derive(Clone)]
pub struct LocalLogs {
    /// The data directory.
    pub data: Arc<DataDir>,
    /// Its flusher.
    pub flusher: Arc<Flusher>,
    /// Who records its marks and removes what is too old.
    pub upkeep: Arc<Upkeep>,
}

/// What makes a partition.
#[derive(Clone, Debug)]
pub struct PartitionSpec {
    /// Its name and number.
    pub partition: TopicPartition,
    /// The topic's identity; data of another id is not touched.
    pub topic_id: TopicId,
    /// This broker.
    pub broker: BrokerId,
    /// The reign in which this broker leads.
    pub epoch: LeaderEpoch,
    /// The in-sync replicas, this broker included.
    pub in_sync: Vec<BrokerId>,
    /// How many replicas it has in all.
    pub replicas: usize,
    /// The topic's settings.
    pub config: Arc<LogConfig>,
}
