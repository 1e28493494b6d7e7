//! The immutable image of the cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::metadata::image::{
    Broker, Configs, IsrMember, KnownBroker, Partition, Tombstone, Topic,
};
use crate::metadata::store::SessionId;
use crate::types::{BrokerId, PartitionIndex, TopicId, TopicName, TopicPartition};

/// The state of the cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub(in crate::metadata) cluster_id: String,
    pub(in crate::metadata) controller: Option<Controller>,
    pub(in crate::metadata) brokers: BTreeMap<BrokerId, Arc<Broker>>,
    pub(in crate::metadata) known_brokers: BTreeMap<BrokerId, Arc<KnownBroker>>,
    /// The sessions of brokers that go on, whether the brokers are registered or not.
    pub(in crate::metadata) sessions: BTreeMap<BrokerId, SessionId>,
    pub(in crate::metadata) topics: BTreeMap<TopicName, Arc<Topic>>,
    pub(in crate::metadata) names: HashMap<TopicId, TopicName>,
    pub(in crate::metadata) broker_configs: BTreeMap<Option<BrokerId>, Arc<Configs>>,
    /// The names of the nodes with settings of brokers, all of which must exist.
    pub(in crate::metadata) expected_broker_configs: Arc<BTreeSet<String>>,
    /// True if these names are not known, since the parent was deleted or cannot be read.
    pub(in crate::metadata) has_lost_broker_configs: bool,
    pub(in crate::metadata) tombstones: BTreeMap<TopicId, Arc<Tombstone>>,
    /// The topics of which a tombstone was seen lately, whether it still exists or not.
    pub(in crate::metadata) deleted: Arc<BTreeSet<TopicId>>,
    /// True if only this process changes the store: then nothing is deleted by hand.
    pub(in crate::metadata) is_private: bool,
    /// Topics with a tombstone whose nodes still exist.
    pub(in crate::metadata) deleting: BTreeMap<TopicName, Arc<Topic>>,
    pub(in crate::metadata) broken: BTreeMap<String, BrokenNode>,
}

/// The broker that is the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The broker id.
    pub broker: BrokerId,
    /// The transaction that made it controller.
    pub elected: i64,
}

/// A node that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenNode {
    /// The fault.
    pub reason: String,
    /// The version of the node.
    pub version: i32,
}

impl Image {
    /// The cluster id, 22 characters; empty before the cluster exists.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The controller, if there is one.
    pub fn controller(&self) -> Option<Controller> {
        self.controller
    }

    /// The live brokers, by id.
    pub fn brokers(&self) -> impl ExactSizeIterator<Item = &Arc<Broker>> {
        self.brokers.values()
    }

    /// Returns true if at most one broker is alive.
    pub fn has_single_broker(&self) -> bool {
        self.brokers.len() <= 1
    }

    /// The live broker with this id.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<Broker>> {
        self.brokers.get(&id)
    }

    /// Returns true if somebody has deleted or damaged the registration of a broker whose session
    /// goes on. It may not have noticed that, and answer clients as long as its lease lasts.
    pub(in crate::metadata) fn has_lost_registration(&self, id: BrokerId) -> bool {
        self.broker(id).is_none() && self.sessions.contains_key(&id)
    }

    /// The replicas of a partition whose brokers do not run, or have registered that their disks
    /// have lost records of the partition or cannot read its log.
    pub fn offline_replicas(
        &self,
        id: (TopicId, PartitionIndex),
        partition: &Partition,
    ) -> impl Iterator<Item = BrokerId> {
        let has_lost = move |broker: &Arc<Broker>| broker.registration.lost.contains(&id);
        let is_offline = move |replica: &BrokerId| self.broker(*replica).is_none_or(has_lost);
        partition.replicas.iter().copied().filter(is_offline)
    }

    /// The brokers that have ever registered, by id.
    pub fn known_brokers(&self) -> impl ExactSizeIterator<Item = (BrokerId, &Arc<KnownBroker>)> {
        self.known_brokers.iter().map(|(id, broker)| (*id, broker))
    }

    /// The last registration of the broker with this id, whether it is alive or not.
    pub fn known_broker(&self, id: BrokerId) -> Option<&Arc<KnownBroker>> {
        self.known_brokers.get(&id)
    }

    /// Returns true if the process of an incarnation is known to have ended.
    pub(in crate::metadata) fn has_ended(&self, member: &IsrMember) -> bool {
        let known = self.known_brokers.get(&member.broker);
        known.and_then(|known| known.ended).is_some_and(|ended| ended >= member.incarnation)
    }

    /// For each replica's broker, the last incarnation whose process is known to have ended, if
    /// any.
    pub fn ended_replicas(&self, partition: &Partition) -> Vec<IsrMember> {
        let ended = |broker: &BrokerId| {
            let incarnation = self.known_brokers.get(broker)?.ended?;
            Some(IsrMember { broker: *broker, incarnation })
        };
        partition.replicas.iter().filter_map(ended).collect()
    }

    /// The ids of all brokers, alive or not.
    pub fn broker_ids(&self) -> BTreeSet<BrokerId> {
        self.brokers.keys().chain(self.known_brokers.keys()).copied().collect()
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// The topic with this name.
    pub fn topic(&self, name: &TopicName) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The topic with this id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(&id)?)
    }

    /// The partition with this number of the topic with this name.
    pub fn partition(&self, name: &TopicName, index: PartitionIndex) -> Option<&Partition> {
        self.topics.get(name)?.partition(index)
    }

    /// The leader of a partition, if it is alive. Until another is elected, the state of a
    /// partition names a leader whose session has ended.
    pub fn live_leader(&self, partition: &Partition) -> Option<BrokerId> {
        partition.leader().filter(|leader| self.brokers.contains_key(leader))
    }

    /// Returns true if a replica may take over a partition from a live leader: its registered
    /// incarnation is in sync, and its broker is not stopping. A leader that is not believed yet
    /// hands over to nobody.
    pub fn may_take_over(&self, partition: &Partition, broker: BrokerId) -> bool {
        if partition.state.as_ref().is_some_and(|state| state.unvouched.is_some()) {
            return false;
        }
        let registered = self.broker(broker).filter(|broker| !broker.registration.is_stopping);
        registered.is_some_and(|registered| {
            let member = IsrMember { broker, incarnation: registered.incarnation };
            partition.isr().contains(&member)
        })
    }

    /// Returns true if a replica has handed the partition over because of damage, and its broker
    /// still uses the damaged data directory.
    pub fn is_damaged(&self, partition: &Partition, broker: BrokerId) -> bool {
        let registered = self.broker(broker);
        let directory = registered.and_then(|broker| broker.registration.directory_id.as_deref());
        let mut damaged = partition.state.iter().flat_map(|state| &state.damaged);
        damaged.any(|known| known.broker == broker && Some(&*known.directory) == directory)
    }

    /// The first replica without known damage that may take over a partition from `leader`.
    pub fn intact_successor(&self, partition: &Partition, leader: BrokerId) -> Option<BrokerId> {
        let mut others = partition.replicas.iter().copied().filter(|other| *other != leader);
        others.find(|other| {
            self.may_take_over(partition, *other) && !self.is_damaged(partition, *other)
        })
    }

    /// The partitions of which a broker is a replica, by topic and number.
    pub fn partitions_of(&self, broker: BrokerId) -> impl Iterator<Item = TopicPartition> {
        self.topics.values().flat_map(move |topic| {
            let kept = move |(_, partition): &(_, &Partition)| partition.replicas.contains(&broker);
            let of_topic = |(partition, _)| TopicPartition { topic: topic.name.clone(), partition };
            topic.numbered().filter(kept).map(of_topic)
        })
    }

    /// The number of partitions of which a broker is a replica, including internal topics.
    pub fn partition_count_of(&self, broker: BrokerId) -> usize {
        let partitions = self.topics.values().flat_map(|topic| &topic.partitions);
        partitions.filter(|partition| partition.replicas.contains(&broker)).count()
    }

    /// The dynamic settings of one broker, or with `None` of all brokers.
    pub fn broker_configs(&self, broker: Option<BrokerId>) -> Option<&Arc<Configs>> {
        self.broker_configs.get(&broker)
    }

    /// Topics that are deleted but whose tombstone still exists.
    pub fn tombstones(&self) -> impl Iterator<Item = (TopicId, &Arc<Tombstone>)> {
        self.tombstones.iter().map(|(id, tombstone)| (*id, tombstone))
    }

    /// The tombstone of a deleted topic; its data may be removed.
    pub fn tombstone(&self, id: TopicId) -> Option<&Arc<Tombstone>> {
        self.tombstones.get(&id)
    }

    /// True if a topic that the image lacks was deleted by a request. The nodes of others may have
    /// been deleted by hand, and come back.
    pub fn was_deleted(&self, id: TopicId) -> bool {
        self.is_private || self.deleted.contains(&id) || self.tombstones.contains_key(&id)
    }

    /// The unreadable nodes, by path.
    pub fn broken(&self) -> &BTreeMap<String, BrokenNode> {
        &self.broken
    }

    /// Topics whose nodes the controller still has to remove.
    pub(in crate::metadata) fn deleting(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.deleting.values()
    }
}
