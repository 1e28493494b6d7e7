//! Nodes that cannot be read, because they were edited by hand or written by a later release, and
//! states and settings that somebody has deleted.
//!
//! The dependents of such a node stop until it is repaired: a topic or partition is not served, a
//! broker counts as stopped, records are not deleted by inherited settings, or no leaders are
//! elected. Data is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::metadata::image::{BrokenNode, Image};
use crate::metadata::layout::{BROKER_CONFIGS, NodePath, broker_config_name};
use crate::types::{BrokerId, TopicId, TopicName, TopicPartition};

impl Image {
    /// True if the node of the topic with this name cannot be read.
    pub fn is_topic_broken(&self, name: &TopicName) -> bool {
        self.is_broken(|| NodePath::Topic(name.clone()))
    }

    /// True if the settings of the topic with this name are missing or cannot be read.
    pub fn are_topic_configs_broken(&self, name: &TopicName) -> bool {
        self.is_broken(|| NodePath::TopicConfig(name.clone()))
            || self.topics.get(name).is_some_and(|topic| topic.lacks_configs())
    }

    /// True if the dynamic settings of a broker, or with `None` of all brokers, are missing or
    /// cannot be read.
    pub fn are_broker_configs_broken(&self, broker: Option<BrokerId>) -> bool {
        self.is_broken(|| NodePath::BrokerConfig(broker)) || self.lacks_broker_configs(broker)
    }

    /// True if the dynamic settings of a broker, or with `None` of all brokers, were deleted by
    /// hand, or may have been.
    pub(in crate::metadata) fn lacks_broker_configs(&self, broker: Option<BrokerId>) -> bool {
        let expected = &self.expected_broker_configs;
        self.has_lost_broker_configs
            || !expected.is_empty()
                && !self.broker_configs.contains_key(&broker)
                && expected.contains(&broker_config_name(broker))
    }

    /// The paths of nodes that were deleted by hand, partition states excepted.
    pub(in crate::metadata) fn missing_nodes(&self) -> impl Iterator<Item = String> {
        let parent = self.has_lost_broker_configs.then_some(NodePath::BrokerConfigs);
        let of_brokers = self.missing_broker_configs();
        let of_topics = self.topics().filter(|topic| topic.lacks_configs());
        let of_topics = of_topics.map(|topic| NodePath::TopicConfig(topic.name.clone()));
        let missing = parent.into_iter().chain(of_brokers).chain(of_topics);
        missing.map(|path| path.to_string()).filter(|path| !self.broken.contains_key(path))
    }

    /// The nodes with settings of brokers that must exist and do not.
    pub(in crate::metadata) fn missing_broker_configs(&self) -> impl Iterator<Item = NodePath> {
        let expected = self.expected_broker_configs.iter();
        let paths = expected.filter_map(|name| NodePath::of(&format!("{BROKER_CONFIGS}/{name}")));
        paths.filter(
            |path| matches!(path, NodePath::BrokerConfig(id) if self.lacks_broker_configs(*id)),
        )
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
        let known: BTreeSet<String> = before.missing_nodes().collect();
        for path in self.missing_nodes().filter(|path| !known.contains(path)) {
            tracing::error!("node {path} was deleted by hand; {}", consequence(&path));
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
        Some(NodePath::BrokerConfigs | NodePath::BrokerConfig(_)) => {
            "no records are deleted or compacted by inherited settings".to_owned()
        }
        Some(NodePath::Broker(id)) => {
            return format!("broker {id} takes over nothing until it has registered again");
        }
        Some(NodePath::KnownBroker(id) | NodePath::Session(id)) => {
            return format!("broker {id} writes it again when it runs");
        }
        Some(NodePath::Controller) => "no leaders are elected".to_owned(),
        Some(NodePath::DeletedTopic(_)) => "the data of the topic is kept".to_owned(),
        _ => "it is ignored".to_owned(),
    };
    format!("{stopped} until it is repaired")
}
