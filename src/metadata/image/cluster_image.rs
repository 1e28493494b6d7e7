//! The image itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::metadata::image::{Broker, Configs, Partition, Tombstone, Topic};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName, TopicPartition};

/// The cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub(in crate::metadata) cluster_id: String,
    pub(in crate::metadata) controller: Option<Controller>,
    pub(in crate::metadata) brokers: BTreeMap<BrokerId, Arc<Broker>>,
    pub(in crate::metadata) topics: BTreeMap<TopicName, Arc<Topic>>,
    pub(in crate::metadata) names: HashMap<TopicId, TopicName>,
    pub(in crate::metadata) broker_configs: BTreeMap<Option<BrokerId>, Arc<Configs>>,
    pub(in crate::metadata) tombstones: BTreeMap<TopicId, Arc<Tombstone>>,
    /// Topics with a tombstone whose nodes are still there.
    pub(in crate::metadata) deleting: BTreeMap<TopicName, Arc<Topic>>,
    pub(in crate::metadata) broken: BTreeMap<String, BrokenNode>,
}

/// Who is in office.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The broker.
    pub broker: BrokerId,
    /// The transaction in which it took office.
    pub elected: i64,
}

/// A node that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenNode {
    /// What is wrong with it.
    pub reason: String,
    /// Its version.
    pub version: i32,
}

impl Image {
    /// The cluster's id, 22 characters; empty before there is one.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// Who is the controller, if anybody.
    pub fn controller(&self) -> Option<Controller> {
        self.controller
    }

    /// The live brokers, by id.
    pub fn brokers(&self) -> impl ExactSizeIterator<Item = &Arc<Broker>> {
        self.brokers.values()
    }

    /// A live broker.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<Broker>> {
        self.brokers.get(&id)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// A topic by its name.
    pub fn topic(&self, name: &TopicName) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// A topic by its id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(&id)?)
    }

    /// A partition by its topic's name.
    pub fn partition(&self, name: &TopicName, index: PartitionIndex) -> Option<&Partition> {
        self.topics.get(name)?.partition(index)
    }

    /// The partitions that a broker keeps, by topic and number.
    pub fn partitions_of(&self, broker: BrokerId) -> impl Iterator<Item = TopicPartition> {
        self.topics.values().flat_map(move |topic| {
            let kept = move |(_, partition): &(_, &Partition)| partition.replicas.contains(&broker);
            let of_topic = |(partition, _)| TopicPartition { topic: topic.name.clone(), partition };
            topic.numbered().filter(kept).map(of_topic)
        })
    }

    /// How many partitions a broker keeps, those of internal topics among them.
    pub fn partition_count_of(&self, broker: BrokerId) -> usize {
        let partitions = self.topics.values().flat_map(|topic| &topic.partitions);
        partitions.filter(|partition| partition.replicas.contains(&broker)).count()
    }

    /// Settings changed while brokers ran: of one broker, or with `None` of all.
    pub fn broker_configs(&self, broker: Option<BrokerId>) -> Option<&Arc<Configs>> {
        self.broker_configs.get(&broker)
    }

    /// Topics that are deleted but not yet forgotten.
    pub fn tombstones(&self) -> impl Iterator<Item = (TopicId, &Arc<Tombstone>)> {
        self.tombstones.iter().map(|(id, tombstone)| (*id, tombstone))
    }

    /// Whether a topic with this id was deleted and its data may be removed.
    pub fn tombstone(&self, id: TopicId) -> Option<&Arc<Tombstone>> {
        self.tombstones.get(&id)
    }

    /// The nodes that cannot be read, by path.
    pub fn broken(&self) -> &BTreeMap<String, BrokenNode> {
        &self.broken
    }

    /// Topics whose nodes the controller has yet to remove.
    pub(in crate::metadata) fn deleting(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.deleting.values()
    }
}
