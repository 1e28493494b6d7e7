//! Builds images from nodes: nodes arrive one by one, in any order, and changed topics are rebuilt.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::metadata::image::{
    BrokenNode, Configs, Controller, Image, Incarnation, KnownBroker, Partition, PartitionState,
    PartitionsNode, Replicas, Tombstone, Topic,
};
use crate::metadata::layout::NodePath;
use crate::metadata::store::Node;
use crate::metadata::values::{
    BrokerConfigsValue, ClusterIdValue, ConfigValue, ControllerValue, KnownBrokerValue, Malformed,
    NewPartitionsValue, TombstoneValue, TopicValue, decode, decode_broker, decode_state,
};
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName};

/// The nodes received so far, and the image built from them.
#[derive(Debug, Default)]
pub(in crate::metadata) struct ImageBuilder {
    topics: BTreeMap<TopicName, TopicNodes>,
    /// The topics that claim an id, oldest first. The oldest owns it.
    claims: BTreeMap<TopicId, BTreeSet<(i64, TopicName)>>,
    /// Topics with a node that changed since the last image.
    touched: BTreeSet<TopicName>,
    /// The topics whose tombstones were seen last, in this order.
    deleted: VecDeque<TopicId>,
    image: Image,
}

/// The nodes of a topic. They arrive in any order, and some may be broken.
#[derive(Debug, Default)]
struct TopicNodes {
    topic: Option<TopicNode>,
    configs: Option<(Arc<Configs>, i32)>,
    parent: Option<PartitionsNode>,
    states: BTreeMap<PartitionIndex, Arc<PartitionState>>,
}

#[derive(Debug)]
struct TopicNode {
    id: TopicId,
    assignment: Vec<Replicas>,
    has_config: bool,
    version: i32,
    created: i64,
}

/// The number of deleted topics that are remembered after their tombstones are gone.
const DELETED_MAX: usize = 4096;

impl ImageBuilder {
    /// A builder without nodes that knows of the deletions of which an earlier one knows. Only this
    /// process changes the store if `is_private`.
    pub(in crate::metadata) fn after(earlier: &Self, is_private: bool) -> Self {
        let deleted = Arc::clone(&earlier.image.deleted);
        let image = Image { deleted, is_private, ..Image::default() };
        Self { image, deleted: earlier.deleted.clone(), ..Self::default() }
    }

    /// Records a node or its absence. An unreadable node counts as absent.
    pub(in crate::metadata) fn put(&mut self, path: &str, node: Option<&Node>) {
        let Some(node_path) = NodePath::of(path) else { return };
        self.image.broken.remove(path);
        let put = require_owner(&node_path, node).and_then(|()| self.put_node(&node_path, node));
        let Err(Malformed(reason)) = put else { return };
        let version = node.map_or(0, |node| node.version);
        self.image.broken.insert(path.to_owned(), BrokenNode { reason, version });
        if let Err(Malformed(reason)) = self.put_node(&node_path, None) {
            panic!("an absent node {path} cannot be malformed: {reason}");
        }
    }

    /// The incarnation that is registered under a broker id, if its registration can be read.
    pub(in crate::metadata) fn incarnation_of(&self, id: BrokerId) -> Option<Incarnation> {
        self.image.brokers.get(&id).map(|broker| broker.incarnation)
    }

    /// True if the node by which this broker is known while it is away exists and can be read.
    pub(in crate::metadata) fn knows(&self, id: BrokerId) -> bool {
        self.image.known_brokers.contains_key(&id)
    }

    /// True if the node exists that shows that this broker's session goes on.
    pub(in crate::metadata) fn has_session(&self, id: BrokerId) -> bool {
        self.image.sessions.contains_key(&id)
    }

    /// The nodes that have been received without all those that must exist with them: somebody has
    /// deleted nodes, or they were read at different times.
    pub(in crate::metadata) fn incomplete(&self) -> Vec<String> {
        let of_brokers = self.image.missing_broker_configs().next().is_some();
        let topics = self.topics.iter().filter(|(_, nodes)| nodes.are_incomplete());
        let topics = topics.map(|(name, _)| NodePath::Topic(name.clone()));
        let paths = of_brokers.then_some(NodePath::BrokerConfigs).into_iter().chain(topics);
        paths.map(|path| path.to_string()).collect()
    }

    /// The nodes that must exist with the one at `path`, and that have not been received: the
    /// parent of all partitions of a topic and its settings, or the settings of brokers.
    pub(in crate::metadata) fn missing_beside(&self, path: &str) -> Vec<String> {
        match NodePath::of(path) {
            Some(NodePath::Topic(name)) => {
                let Some(nodes) = self.topics.get(&name) else { return Vec::new() };
                let parent = nodes.lacks_parent().then(|| NodePath::Partitions(name.clone()));
                let config = nodes.lacks_configs().then_some(NodePath::TopicConfig(name));
                parent.into_iter().chain(config).map(|path| path.to_string()).collect()
            }
            Some(NodePath::BrokerConfigs) => {
                self.image.missing_broker_configs().map(|path| path.to_string()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The states that must exist by the node at `path`, if it is that of a topic or of all its
    /// partitions, and that have not been received.
    pub(in crate::metadata) fn missing_states(&self, path: &str) -> Vec<String> {
        let Some(NodePath::Topic(name) | NodePath::Partitions(name)) = NodePath::of(path) else {
            return Vec::new();
        };
        let Some(nodes) = self.topics.get(&name) else { return Vec::new() };
        let path = |index| NodePath::PartitionState(name.clone(), index).to_string();
        nodes.missing_states().map(path).collect()
    }

    /// The image of all nodes so far.
    pub(in crate::metadata) fn build(&mut self) -> Image {
        for name in std::mem::take(&mut self.touched) {
            self.rebuild(&name);
        }
        self.image.clone()
    }

    fn put_node(&mut self, node_path: &NodePath, node: Option<&Node>) -> Result<(), Malformed> {
        let image = &mut self.image;
        match node_path {
            NodePath::ClusterId => {
                let value = node.map(|node| decode::<ClusterIdValue>(&node.value)).transpose()?;
                image.cluster_id = value.map(|value| value.id).unwrap_or_default();
            }
            NodePath::Controller => {
                let decoded = |node: &Node| {
                    let value: ControllerValue = decode(&node.value)?;
                    Ok(Controller { broker: BrokerId(value.brokerid), elected: node.created })
                };
                image.controller = node.map(decoded).transpose()?;
            }
            NodePath::Broker(id) => {
                let decoded = |node: &Node| decode_broker(*id, &node.value, node.created);
                let broker = node.map(decoded).transpose()?.map(Arc::new);
                set(&mut image.brokers, *id, broker);
            }
            NodePath::KnownBroker(id) => {
                let decoded = |node: &Node| decode::<KnownBrokerValue>(&node.value);
                let known = node.map(decoded).transpose()?.map(KnownBroker::from).map(Arc::new);
                set(&mut image.known_brokers, *id, known);
            }
            NodePath::Session(id) => {
                set(&mut image.sessions, *id, node.and_then(|node| node.owner));
            }
            NodePath::BrokerConfigs => {
                let value = node.map(|node| BrokerConfigsValue::of(&node.value)).transpose()?;
                image.has_lost_broker_configs = value.is_none();
                image.expected_broker_configs = Arc::new(value.unwrap_or_default().children);
            }
            NodePath::BrokerConfig(id) => {
                let value = node.map(|node| decode::<ConfigValue>(&node.value)).transpose()?;
                let configs = value.map(|value| Arc::new(value.config));
                set(&mut image.broker_configs, *id, configs);
            }
            NodePath::DeletedTopic(id) => {
                let tombstone = node.map(decode_tombstone).transpose()?.map(Arc::new);
                set(&mut image.tombstones, *id, tombstone);
                self.remember_deleted(*id);
                self.touch_claimants(*id);
            }
            NodePath::Topic(name) => self.put_topic(name, node)?,
            NodePath::TopicConfig(name) => {
                let decoded = |node: &Node| {
                    let value: ConfigValue = decode(&node.value)?;
                    Ok((Arc::new(value.config), node.version))
                };
                self.nodes_of(name).configs = node.map(decoded).transpose()?;
            }
            NodePath::Partitions(name) => {
                let decoded = |node: &Node| {
                    let new_from = NewPartitionsValue::first_in(&node.value)?;
                    Ok(PartitionsNode { new_from, version: node.version })
                };
                self.nodes_of(name).parent = node.map(decoded).transpose()?;
            }
            NodePath::PartitionState(name, index) => {
                let state = node.map(decode_state).transpose()?;
                self.nodes_of(name).put_state(*index, state);
            }
            // These nodes do not contribute to the image.
            NodePath::Marker
            | NodePath::ControllerEpoch
            | NodePath::ProducerIds
            | NodePath::Partition(..) => {}
        }
        Ok(())
    }

    fn put_topic(&mut self, name: &TopicName, node: Option<&Node>) -> Result<(), Malformed> {
        let decoded = |node: &Node| {
            let value: TopicValue = decode(&node.value)?;
            let (id, assignment) = (value.id()?, value.assignment()?);
            let (has_config, version, created) = (value.has_config, node.version, node.created);
            Ok(TopicNode { id, assignment, has_config, version, created })
        };
        let after = node.map(decoded).transpose()?;
        let claim = after.as_ref().map(|topic| (topic.id, topic.created));
        if let Some(before) = std::mem::replace(&mut self.nodes_of(name).topic, after) {
            self.touch_claimants(before.id);
            if let Entry::Occupied(mut claimants) = self.claims.entry(before.id) {
                claimants.get_mut().remove(&(before.created, name.clone()));
                if claimants.get().is_empty() {
                    claimants.remove();
                }
            }
        }
        if let Some((id, created)) = claim {
            self.claims.entry(id).or_default().insert((created, name.clone()));
            self.touch_claimants(id);
        }
        Ok(())
    }

    fn touch_claimants(&mut self, id: TopicId) {
        let claimants = self.claims.get(&id).into_iter().flatten();
        self.touched.extend(claimants.map(|(_, name)| name.clone()));
    }

    /// Remembers that a topic was deleted, by the path of its tombstone: the tombstone itself may
    /// be gone when it is read.
    fn remember_deleted(&mut self, id: TopicId) {
        if self.image.is_private || self.image.deleted.contains(&id) {
            return;
        }
        let deleted = Arc::make_mut(&mut self.image.deleted);
        deleted.insert(id);
        self.deleted.push_back(id);
        if self.deleted.len() > DELETED_MAX
            && let Some(oldest) = self.deleted.pop_front()
        {
            deleted.remove(&oldest);
        }
    }

    fn nodes_of(&mut self, name: &TopicName) -> &mut TopicNodes {
        self.touched.insert(name.clone());
        self.topics.entry(name.clone()).or_default()
    }

    fn rebuild(&mut self, name: &TopicName) {
        let image = &mut self.image;
        let hidden = image.deleting.remove(name);
        let visible = image.topics.remove(name);
        // The id may meanwhile belong to another topic, whose entry must stay.
        if let Some(topic) = &visible
            && image.names.get(&topic.id) == Some(name)
        {
            image.names.remove(&topic.id);
        }
        let Some(nodes) = self.topics.get(name) else { return };
        let Some(topic) = nodes.topic(name) else {
            if nodes.configs.is_none() && nodes.parent.is_none() && nodes.states.is_empty() {
                self.topics.remove(name);
            }
            return;
        };
        let path = NodePath::Topic(name.clone()).to_string();
        let claimants = self.claims.get(&topic.id);
        if let Some((_, owner)) = claimants.and_then(BTreeSet::first).filter(|(_, o)| o != name) {
            let reason = format!("topic_id {} is that of topic '{owner}'", topic.id);
            image.broken.insert(path, BrokenNode { reason, version: topic.version });
            return;
        }
        image.broken.remove(&path);
        // An unchanged topic stays the same allocation, so that comparing images is cheap.
        let before = visible.or(hidden).filter(|before| **before == topic);
        let topic = before.unwrap_or_else(|| Arc::new(topic));
        if image.tombstones.contains_key(&topic.id) {
            image.deleting.insert(name.clone(), topic);
        } else {
            image.names.insert(topic.id, name.clone());
            image.topics.insert(name.clone(), topic);
        }
    }
}

impl TopicNodes {
    /// True if the topic lacks the parent of its partitions.
    fn lacks_parent(&self) -> bool {
        self.topic.is_some() && self.parent.is_none()
    }

    /// True if the topic lacks the node of its settings, which it must have.
    fn lacks_configs(&self) -> bool {
        self.topic.as_ref().is_some_and(|topic| topic.has_config) && self.configs.is_none()
    }

    /// The partitions that lack the state which they must have.
    fn missing_states(&self) -> impl Iterator<Item = PartitionIndex> {
        let made = self.topic.as_ref().zip(self.parent).map(|(topic, parent)| {
            let numbers = (0..).map(PartitionIndex).take(topic.assignment.len());
            numbers.filter(move |index| parent.new_from.is_none_or(|first| *index < first))
        });
        made.into_iter().flatten().filter(|index| !self.states.contains_key(index))
    }

    /// True if the topic lacks a node that it must have.
    fn are_incomplete(&self) -> bool {
        self.lacks_parent() || self.lacks_configs() || self.missing_states().next().is_some()
    }

    fn put_state(&mut self, index: PartitionIndex, state: Option<PartitionState>) {
        let neighbour = self.states.range(..index).next_back().map(|(_, state)| state);
        let shared = |state: PartitionState| match neighbour {
            Some(neighbour) if **neighbour == state => Arc::clone(neighbour),
            _ => Arc::new(state),
        };
        let state = state.map(shared);
        set(&mut self.states, index, state);
    }

    fn topic(&self, name: &TopicName) -> Option<Topic> {
        let TopicNode { id, assignment, has_config, version, .. } = self.topic.as_ref()?;
        let partition = |(index, replicas): (i32, &Replicas)| Partition {
            replicas: Arc::clone(replicas),
            state: self.states.get(&PartitionIndex(index)).cloned(),
        };
        let (configs, config_version) = match &self.configs {
            Some((configs, version)) => (Arc::clone(configs), Some(*version)),
            None => (Arc::default(), None),
        };
        Some(Topic {
            name: name.clone(),
            id: *id,
            partitions: (0..).zip(assignment).map(partition).collect(),
            configs,
            version: *version,
            config_version,
            has_config: *has_config,
            parent: self.parent,
        })
    }
}

/// Refuses a node that must end with a session, and belongs to none.
fn require_owner(node_path: &NodePath, node: Option<&Node>) -> Result<(), Malformed> {
    if node_path.is_ephemeral() && node.is_some_and(|node| node.owner.is_none()) {
        return Err(Malformed("it is not ephemeral: it was created by hand".to_owned()));
    }
    Ok(())
}

fn decode_tombstone(node: &Node) -> Result<Tombstone, Malformed> {
    let value: TombstoneValue = decode(&node.value)?;
    Ok(Tombstone {
        name: value.topic,
        partitions: value.partitions,
        pending: value.pending.into_iter().map(BrokerId).collect(),
        version: node.version,
    })
}

fn set<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
