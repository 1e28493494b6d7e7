//! The values of `/brokers/topics/<topic>` and `/admin/deleted_topics/<id>`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::metadata::image::Replicas;
use crate::metadata::values::{Malformed, decode, encode};
use crate::types::{BrokerId, PartitionIndex, TopicId};

/// The value of `/brokers/topics/<topic>/partitions` while the states of new partitions are to be
/// made; empty otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct NewPartitionsValue {
    /// The number of the first new partition.
    new_from: i32,
}

impl NewPartitionsValue {
    pub(in crate::metadata) fn from(first: PartitionIndex) -> Bytes {
        encode(&Self { new_from: first.0 })
    }

    /// The first new partition, if there is one.
    pub(in crate::metadata) fn first_in(bytes: &[u8]) -> Result<Option<PartitionIndex>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        decode(bytes).map(|Self { new_from }| Some(PartitionIndex(new_from)))
    }
}

/// The id and replica assignment of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct TopicValue {
    version: i32,
    topic_id: String,
    partitions: BTreeMap<String, Vec<i32>>,
    #[serde(default)]
    adding_replicas: Map<String, Value>,
    #[serde(default)]
    removing_replicas: Map<String, Value>,
    /// True if the topic has a node with its settings; then one that is missing was deleted by
    /// hand. False in a value of a release that wrote such a node with the first setting only.
    #[serde(default)]
    pub(in crate::metadata) has_config: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TopicValue {
    pub(in crate::metadata) fn new(id: TopicId, assignment: &[Vec<BrokerId>]) -> Self {
        let mut value = Self {
            version: 3,
            topic_id: id.to_string(),
            partitions: BTreeMap::new(),
            adding_replicas: Map::new(),
            removing_replicas: Map::new(),
            has_config: true,
            extra: Map::new(),
        };
        value.add_partitions(assignment);
        value
    }

    /// Adds partitions after the existing ones.
    pub(in crate::metadata) fn add_partitions(&mut self, assignment: &[Vec<BrokerId>]) {
        for replicas in assignment {
            let replicas = replicas.iter().map(|broker| broker.0).collect();
            self.partitions.insert(self.partitions.len().to_string(), replicas);
        }
    }

    pub(in crate::metadata) fn id(&self) -> Result<TopicId, Malformed> {
        let id = self.topic_id.parse().ok().filter(|id| *id != TopicId::NONE);
        id.ok_or_else(|| Malformed(format!("topic_id {:?} is no topic id", self.topic_id)))
    }

    /// The replicas of each partition, in order. Partitions with the same replicas share a list.
    pub(in crate::metadata) fn assignment(&self) -> Result<Vec<Replicas>, Malformed> {
        let replicas = |index: usize| {
            let replicas = self.partitions.get(&index.to_string());
            let replicas = replicas.filter(|replicas| !replicas.is_empty());
            replicas.ok_or_else(|| Malformed(format!("partition {index} has no replicas")))
        };
        if self.partitions.is_empty() {
            return Err(Malformed("there are no partitions".to_owned()));
        }
        let mut lists = BTreeMap::<&[i32], Replicas>::new();
        (0..self.partitions.len())
            .map(|index| {
                let ids = replicas(index)?;
                let list = || ids.iter().copied().map(BrokerId).collect();
                Ok(Arc::clone(lists.entry(ids).or_insert_with(list)))
            })
            .collect()
    }
}

/// The record of a deleted topic until all its data is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::metadata) struct TombstoneValue {
    version: i32,
    pub(in crate::metadata) topic: String,
    pub(in crate::metadata) partitions: usize,
    /// The brokers that have not removed their data yet.
    pub(in crate::metadata) pending: Vec<i32>,
    timestamp: String,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TombstoneValue {
    /// Creates the tombstone of a topic deleted at `timestamp_ms`.
    pub(in crate::metadata) fn new(
        topic: &str,
        partitions: usize,
        pending: Vec<i32>,
        timestamp_ms: i64,
    ) -> Self {
        let (topic, timestamp) = (topic.to_owned(), timestamp_ms.to_string());
        Self { version: 1, topic, partitions, pending, timestamp, extra: Map::new() }
    }
}
