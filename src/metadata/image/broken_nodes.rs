//! Nodes that cannot be read, because they were edited by hand or written by a later release, and
//! states of partitions that somebody has deleted.
//!
//! The dependents of such a node stop until it is repaired: a topic or partition is not served, a
//! broker counts as stopped, records are not deleted by inherited settings, or no leaders are
//! elected. Data is kept.

use std::sync::Arc;

use crate::metadata::image::{BrokenNode, Image};
use crate::metadata::layout::NodePath;
use crate::types::{BrokerId, TopicId, TopicName, TopicPartition};

impl Image {
    /// True if the node of the topic with this name cannot be read.
    pub fn is_topic_broken(&self, name: &TopicName) -> bool {
        self.is_broken(|| NodePath::Topic(name.clone()))
    }

    /// True if the settings of the topic with this name cannot be read.
    pub fn are_topic_configs_broken(&self, name: &TopicName) -> bool {
        self.is_broken(|| NodePath::TopicConfig(name.clone()))
    }

    /// True if the dynamic settings of a broker, or with `None` of all brokers, cannot be read.
    pub fn are_broker_configs_broken(&self, broker: Option<BrokerId>) -> bool {
        self.is_broken(|| NodePath::BrokerConfig(broker))
    }

    /// True if the node of the controller cannot be read.
    pub(in crate::metadata) fn is_controller_broken(&self) -> bool {
        self.is_broken(|| NodePath::Controller)
    }

    /// True if the tombstone of a deleted topic cannot be read.
    pub fn is_tombstone_broken(&self, id: TopicId) -> bool {
        self.is_broken(|| NodePath::DeletedTopic(id))
    }

    fn is_broken(&self, node: impl FnOnce() -> NodePath) -> bool {
        // Usually no node is broken: avoid building the path then.
        !self.broken.is_empty() && self.broken.contains_key(&node().to_string())
    }

    /// Logs the nodes that have become unreadable or went missing since the image `before`, and the
    /// nodes that were repaired or deleted since.
    pub(in crate::metadata) fn report_broken_nodes(&self, before: &Self) {
        for topic in self.topics() {
            let known = before.topic(&topic.name);
            if known.is_some_and(|known| Arc::ptr_eq(known, topic)) {
                continue;
            }
            let missing = topic
                .numbered()
                .filter(|(index, now)| now.state.is_none() && !topic.is_new(*index));
            for (index, _) in missing {
                let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
                let was_there = known.is_none_or(|known| {
                    let partition = known.partition(index);
                    known.is_new(index) || partition.is_some_and(|p| p.state.is_some())
                });
                if was_there && !self.broken.contains_key(&path) {
                    tracing::error!("node {path} was deleted by hand; {}", consequence(&path));
                }
            }
        }
        for (path, BrokenNode { reason, .. }) in &self.broken {
            if before.broken.get(path).is_none_or(|known| known.reason != *reason) {
                tracing::error!("node {path} cannot be read: {reason}; {}", consequence(path));
            }
        }
        for path in before.broken.keys().filter(|path| !self.broken.contains_key(*path)) {
            tracing::info!("node {path} was repaired or deleted");
        }
    }
}

/// The consequence of an unreadable node, for the person who has to repair it.
fn consequence(path: &str) -> String {
    let stopped = match NodePath::of(path) {
        Some(NodePath::Topic(name) | NodePath::TopicConfig(name)) => {
            format!("topic '{name}' is not served")
        }
        Some(NodePath::PartitionState(topic, partition)) => {
            format!("partition {} is not served", TopicPartition { topic, partition })
        }
        Some(NodePath::BrokerConfig(_)) => {
            "no records are deleted or compacted by inherited settings".to_owned()
        }
        Some(NodePath::Broker(id)) => format!("broker {id} counts as stopped"),
        Some(NodePath::Controller) => "no leaders are elected".to_owned(),
        Some(NodePath::DeletedTopic(_)) => "the data of the topic is kept".to_owned(),
        _ => "it is ignored".to_owned(),
    };
    format!("{stopped} until it is repaired")
}
