//! Rebuilding a metadata journal from the partitions' logs and from the readable parts of the old
//! journal.
//!
//! The logs take precedence: a topic that has logs gets the id that they name, and at least as many
//! partitions as they show. Settings, and topics without logs, are taken from the old journal as
//! far as it can be read. The new journal is written beside the old one and replaces it by a
//! rename, so a crash at any step leaves one or the other in force.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::io::Disk;
use crate::metadata::embedded::files::Listing;
use crate::metadata::embedded::journal::supersede;
use crate::metadata::embedded::reading::{read_newest, salvage_newest};
use crate::metadata::image::{Caching, Configs, Incarnation, IsrMember, PartitionState};
use crate::metadata::layout::{BROKER_CONFIGS, DIRECTORIES, NodePath, TOPICS};
use crate::metadata::store::{Op, SessionId, StoreError};
use crate::metadata::tree::Tree;
use crate::metadata::values::{
    BrokerConfigsValue, ClusterIdValue, ConfigValue, MarkerValue, NewPartitionsValue,
    ProducerIdBlock, TopicValue, decode, decode_state, encode, encode_state,
};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, TopicId, TopicName};

/// The format of the rebuilt metadata, which the marker node names.
const FORMAT: u32 = 1;
/// The number of producer ids skipped if the old journal is damaged: brokers may have reserved
/// blocks of ids in its lost part, and an id that was assigned need not appear in any log.
const PRODUCER_ID_GAP: i64 = 1_000_000;

/// The contents of the data directory apart from its journal.
#[derive(Debug)]
pub struct FoundCluster {
    /// The cluster id.
    pub cluster_id: String,
    /// The broker, which is the replica of every partition.
    pub broker: BrokerId,
    /// The topics that have logs.
    pub topics: Vec<FoundTopic>,
    /// The names of the logs whose topics cannot be determined.
    pub unidentified: BTreeSet<TopicName>,
    /// The largest producer id in the logs.
    pub largest_producer_id: Option<ProducerId>,
}

/// A topic as found in its logs.
#[derive(Debug)]
pub struct FoundTopic {
    /// The topic name.
    pub name: TopicName,
    /// The topic id.
    pub id: TopicId,
    /// The smallest number of partitions that the topic may have, by its logs, the operator's
    /// request and, for the internal topic, the default.
    pub partitions: usize,
    /// The settings that the topic gets whatever the old journal says, because its logs depend on
    /// them.
    pub required: Configs,
    /// The settings that the topic gets if the old journal has none for it.
    pub defaults: Configs,
    /// The last leader epoch in the log of each partition.
    pub epochs: BTreeMap<PartitionIndex, LeaderEpoch>,
}

/// A topic of the rebuilt journal.
#[derive(Debug)]
pub struct RebuiltTopic {
    /// The topic name.
    pub name: TopicName,
    /// The topic id.
    pub id: TopicId,
    /// The number of partitions.
    pub partitions: usize,
    /// True if its settings come from the old journal.
    pub has_old_configs: bool,
}

/// The readable contents of a journal.
#[derive(Debug)]
pub struct Salvage {
    tree: Tree,
    is_whole: bool,
}

/// A rebuilt journal, before it is written.
#[derive(Debug)]
pub struct Rebuild {
    tree: Tree,
    is_changed: bool,
    /// The topics that have logs.
    pub topics: Vec<RebuiltTopic>,
    /// The least producer id that is assigned next.
    pub next_producer_id: ProducerId,
    /// The names of the nodes with settings of brokers that are lost.
    pub lost_broker_configs: Vec<String>,
    /// True if the old journal was completely readable.
    pub was_whole: bool,
}

impl Salvage {
    /// Reads the contents of the journal in `dir`, as far as they are readable.
    ///
    /// # Errors
    /// If the disk fails, or a later release has written the journal.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Self, StoreError> {
        let listing = match Listing::of(disk, dir) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Listing::default()
            }
            listing => listing?,
        };
        match read_newest(disk, dir, &listing) {
            Ok(read) => Ok(Self { tree: read.replay.tree, is_whole: true }),
            Err(error @ StoreError::NewerFormat { .. }) => Err(error),
            Err(_) => Ok(Self { tree: salvage_newest(disk, dir)?, is_whole: false }),
        }
    }

    /// Returns the id of the cluster and the only broker that has replicas; the broker is `None` if
    /// there are no topics. Returns `None` if the cluster's id cannot be read, or several brokers
    /// have replicas.
    pub fn owner(&self) -> Option<(String, Option<BrokerId>)> {
        let node = self.tree.get(&NodePath::ClusterId.to_string())?;
        let cluster = decode::<ClusterIdValue>(&node.value).ok()?.id;
        let mut brokers = BTreeSet::new();
        for (_, node) in self.tree.snapshot(TOPICS) {
            let topic = decode::<TopicValue>(&node.value).ok();
            let assignment = topic.and_then(|topic| topic.assignment().ok());
            for replicas in assignment.into_iter().flatten() {
                brokers.extend(replicas.iter().copied());
            }
        }
        (brokers.len() < 2).then(|| (cluster, brokers.first().copied()))
    }

    /// True if the journal says that this topic was deleted and its logs are to be removed.
    pub fn is_deleted(&self, id: TopicId) -> bool {
        self.tree.get(&NodePath::DeletedTopic(id).to_string()).is_some()
    }

    /// True if the journal has a topic with this name and id.
    pub fn knows(&self, name: &TopicName, id: TopicId) -> bool {
        let node = self.tree.get(&NodePath::Topic(name.clone()).to_string());
        let value = node.and_then(|node| decode::<TopicValue>(&node.value).ok());
        value.is_some_and(|value| value.id().ok() == Some(id))
    }

    /// Builds a journal that contains the topics in `found` and those of the old journal.
    ///
    /// # Errors
    /// `TooLarge` and other errors of the tree, if a value is larger than those that logs and
    /// journals contain.
    pub fn rebuilt(self, found: &FoundCluster) -> Result<Rebuild, StoreError> {
        let mut rebuild = Rebuild {
            tree: self.tree,
            is_changed: !self.is_whole,
            topics: Vec::new(),
            next_producer_id: ProducerId(0),
            lost_broker_configs: Vec::new(),
            was_whole: self.is_whole,
        };
        rebuild.tree.remove_orphans();
        rebuild.add_directories(found)?;
        for topic in &found.topics {
            rebuild.add_topic(topic, found.broker)?;
        }
        rebuild.complete_settings(found)?;
        rebuild.skip_producer_ids(found)?;
        Ok(rebuild)
    }
}

impl Rebuild {
    /// True if the old journal has to be replaced.
    pub fn is_needed(&self) -> bool {
        self.is_changed
    }

    /// Puts the rebuilt journal in force in `dir`; durable on return. Returns the replaced files,
    /// which stay until the next start.
    ///
    /// # Errors
    /// The error of the disk. Then the old journal or this one is in force.
    pub fn write(&self, disk: &dyn Disk, dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let number = supersede(disk, dir, &self.tree)?;
        let journals = Listing::of(disk, dir)?.journals;
        let old = journals.into_iter().filter(|(old, _)| *old < number);
        let paths = old.flat_map(|(old, sides)| sides.into_iter().map(move |s| s.path(dir, old)));
        Ok(paths.collect())
    }

    /// Adds the nodes that every tree has.
    fn add_directories(&mut self, found: &FoundCluster) -> Result<(), StoreError> {
        for directory in DIRECTORIES {
            if self.tree.get(directory).is_none() {
                self.put((*directory).to_owned(), Bytes::new())?;
            }
        }
        if self.tree.get(&NodePath::ControllerEpoch.to_string()).is_none() {
            self.put(NodePath::ControllerEpoch.to_string(), Bytes::from_static(b"0"))?;
        }
        self.put(NodePath::Marker.to_string(), encode(&MarkerValue { format: FORMAT }))?;
        let id = ClusterIdValue::new(&found.cluster_id);
        self.put(NodePath::ClusterId.to_string(), encode(&id))
    }

    fn add_topic(&mut self, topic: &FoundTopic, broker: BrokerId) -> Result<(), StoreError> {
        let path = NodePath::Topic(topic.name.clone()).to_string();
        let old = self.tree.get(&path).and_then(|n| decode::<TopicValue>(&n.value).ok());
        let is_other = old.as_ref().is_some_and(|old| old.id().ok() != Some(topic.id));
        if is_other {
            self.remove_below(&path)?;
            self.remove_below(&NodePath::TopicConfig(topic.name.clone()).to_string())?;
        }
        let old = old.filter(|_| !is_other);
        let known = old.as_ref().and_then(|old| old.assignment().ok()).map_or(0, |a| a.len());
        let partitions = known.max(topic.partitions);
        let mut value = old.filter(|_| known > 0).unwrap_or(TopicValue::new(topic.id, &[]));
        value.add_partitions(&vec![vec![broker]; partitions - known]);
        self.put(path, encode(&value))?;
        let parent = NodePath::Partitions(topic.name.clone()).to_string();
        // The controller makes the states that are neither left nor known from logs.
        let has_state = |index: PartitionIndex| {
            let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
            self.tree.get(&path).is_some() || topic.epochs.contains_key(&index)
        };
        let mut indices = (0..).map(PartitionIndex).take(partitions);
        let first = indices.find(|index| !has_state(*index));
        let before = self.tree.get(&parent).map(|node| NewPartitionsValue::first_in(&node.value));
        let is_there = before.is_some();
        let before = before.and_then(Result::ok).flatten();
        match before.into_iter().chain(first).min() {
            Some(first) => self.put(parent, NewPartitionsValue::from(first))?,
            None if !is_there => self.put(parent, Bytes::new())?,
            None => {}
        }
        for (partition, epoch) in &topic.epochs {
            self.add_state(&topic.name, *partition, *epoch, broker)?;
        }
        let has_old_configs = self.add_configs(topic, known > 0)?;
        let (name, id) = (topic.name.clone(), topic.id);
        self.topics.push(RebuiltTopic { name, id, partitions, has_old_configs });
        Ok(())
    }

    /// Ensures that the next leader epoch of a partition is above every epoch in its log.
    fn add_state(
        &mut self,
        topic: &TopicName,
        partition: PartitionIndex,
        epoch: LeaderEpoch,
        broker: BrokerId,
    ) -> Result<(), StoreError> {
        let path = NodePath::PartitionState(topic.clone(), partition).to_string();
        let node = self.tree.get(&path);
        let state = node.as_ref().and_then(|node| decode_state(node).ok());
        let is_right = match &state {
            Some(state) => state.leader_epoch >= epoch,
            // The controller starts with leader epoch 0, which is right only for a log without any
            // epoch.
            None => node.is_none() && epoch == LeaderEpoch::NONE,
        };
        if is_right {
            return Ok(());
        }
        let parent = NodePath::Partition(topic.clone(), partition).to_string();
        if self.tree.get(&parent).is_none() {
            self.put(parent, Bytes::new())?;
        }
        let incarnation = Incarnation::UNKNOWN;
        let state = PartitionState {
            leader: Some(broker),
            leader_incarnation: incarnation,
            leader_epoch: epoch.max(LeaderEpoch(0)),
            isr: vec![IsrMember { broker, incarnation }],
            directories: vec![None],
            eligible: Vec::new(),
            minimum: None,
            damaged: Vec::new(),
            is_handed_over: false,
            loss: None,
            unvouched: None,
            caching: Caching::Off,
            caching_ended: None,
            created: 0,
            version: 0,
            controller_epoch: 0,
            extra: serde_json::Map::new(),
        };
        self.put(path, encode_state(&state))
    }

    /// Sets the settings of a topic; returns true if they come from the old journal.
    fn add_configs(&mut self, topic: &FoundTopic, is_known: bool) -> Result<bool, StoreError> {
        let path = NodePath::TopicConfig(topic.name.clone()).to_string();
        let old = self.tree.get(&path).and_then(|n| decode::<ConfigValue>(&n.value).ok());
        let has_old = old.is_some() || self.was_whole && is_known;
        let mut configs = match old {
            Some(old) => old.config,
            None if has_old => Configs::new(),
            None => topic.defaults.clone(),
        };
        let before = configs.clone();
        configs.extend(topic.required.clone());
        if !has_old && !configs.is_empty() || configs != before {
            self.put(path, encode(&ConfigValue::new(configs)))?;
        }
        Ok(has_old)
    }

    /// Ensures that all settings exist of which other nodes say that they do: what the old journal
    /// has lost is not deleted by hand. A topic with logs that could not be identified is left out:
    /// they may count their offsets in another unit than the default.
    fn complete_settings(&mut self, found: &FoundCluster) -> Result<(), StoreError> {
        for (path, node) in self.tree.snapshot(TOPICS) {
            let Some(NodePath::Topic(name)) = NodePath::of(&path) else { continue };
            if found.unidentified.contains(&name) {
                continue;
            }
            let has_config = decode::<TopicValue>(&node.value).is_ok_and(|topic| topic.has_config);
            let path = NodePath::TopicConfig(name).to_string();
            if has_config && self.tree.get(&path).is_none() {
                self.put(path, encode(&ConfigValue::new(Configs::new())))?;
            }
        }
        let Some(parent) = self.tree.get(BROKER_CONFIGS) else { return Ok(()) };
        let Ok(mut value) = BrokerConfigsValue::of(&parent.value) else { return Ok(()) };
        let children = self.tree.children(BROKER_CONFIGS);
        let is_lost = |name: &&String| !children.contains(name);
        self.lost_broker_configs = value.children.iter().filter(is_lost).cloned().collect();
        value.children.retain(|name| children.contains(name));
        if self.lost_broker_configs.is_empty() {
            return Ok(());
        }
        self.put(BROKER_CONFIGS.to_owned(), encode(&value))
    }

    /// Ensures that no producer id is assigned twice.
    fn skip_producer_ids(&mut self, found: &FoundCluster) -> Result<(), StoreError> {
        let path = NodePath::ProducerIds.to_string();
        let block = self.tree.get(&path).and_then(|n| decode::<ProducerIdBlock>(&n.value).ok());
        let ProducerId(known) = block.and_then(|b| b.next().ok()).unwrap_or(ProducerId(0));
        let seen = found.largest_producer_id.map_or(0, |id| id.0.saturating_add(1));
        let gap = if self.was_whole { 0 } else { PRODUCER_ID_GAP };
        let next = known.max(seen).saturating_add(gap);
        self.next_producer_id = ProducerId(next);
        if next == known {
            return Ok(());
        }
        let last = ProducerId(next - 1);
        self.put(path, encode(&ProducerIdBlock::new(found.broker.0, last, last)))
    }

    fn put(&mut self, path: String, value: Bytes) -> Result<(), StoreError> {
        let op = match self.tree.get(&path) {
            Some(node) if node.value == value => return Ok(()),
            Some(node) => Op::set(path, value, node.version),
            None => Op::create(path, value),
        };
        self.execute(op)
    }

    /// Removes a node and all its descendants.
    fn remove_below(&mut self, path: &str) -> Result<(), StoreError> {
        let nodes = self.tree.snapshot(path);
        nodes.into_iter().rev().try_for_each(|(path, n)| self.execute(Op::delete(path, n.version)))
    }

    fn execute(&mut self, op: Op) -> Result<(), StoreError> {
        let txn = self.tree.last_txn + 1;
        let (changes, _) = self.tree.plan(vec![op], txn, SessionId::PAST)?;
        self.tree.apply(txn, changes);
        self.is_changed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_a_damaged_journal_has_lost_are_not_taken_for_deleted_ones() {
        let mut rebuild = Rebuild {
            tree: Tree::new(),
            is_changed: false,
            topics: Vec::new(),
            next_producer_id: ProducerId(0),
            lost_broker_configs: Vec::new(),
            was_whole: false,
        };
        let found = FoundCluster {
            cluster_id: "id".to_owned(),
            broker: BrokerId(0),
            topics: Vec::new(),
            unidentified: BTreeSet::from(["views".parse().unwrap()]),
            largest_producer_id: None,
        };
        rebuild.add_directories(&found).unwrap();
        for name in ["clicks", "views"] {
            let topic = TopicValue::new(TopicId::random(), &[vec![BrokerId(0)]]);
            rebuild.put(format!("/brokers/topics/{name}"), encode(&topic)).unwrap();
        }
        let mut parent = BrokerConfigsValue::default();
        parent.children.extend(["0", "<default>"].map(str::to_owned));
        rebuild.put(BROKER_CONFIGS.to_owned(), encode(&parent)).unwrap();
        let config = encode(&ConfigValue::new(Configs::new()));
        rebuild.put(format!("{BROKER_CONFIGS}/0"), config.clone()).unwrap();
        rebuild.complete_settings(&found).unwrap();
        let completed = rebuild.tree.get("/config/topics/clicks").unwrap();
        assert_eq!(completed.value, config);
        let of_unknown = rebuild.tree.get("/config/topics/views");
        assert!(of_unknown.is_none(), "they may say that its offsets count bytes");
        assert_eq!(rebuild.lost_broker_configs, ["<default>"]);
        let parent = rebuild.tree.get(BROKER_CONFIGS).unwrap();
        let parent = BrokerConfigsValue::of(&parent.value).unwrap();
        assert_eq!(parent.children.into_iter().collect::<Vec<_>>(), ["0"]);
    }
}
