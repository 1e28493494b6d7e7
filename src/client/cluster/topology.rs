//! Cached metadata of brokers and topics.

use std::collections::HashMap;

use crate::client::cluster::NamedLeader;
use crate::config::HostPort;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::wire::metadata::{Partition, Topic};
use crate::wire::{ErrorCode, MetadataResponse};

/// The cluster as described by the latest metadata answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topology {
    brokers: HashMap<BrokerId, HostPort>,
    controller: Option<BrokerId>,
    topics: HashMap<TopicName, TopicInfo>,
}

/// The metadata of a topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicInfo {
    /// Its id; [`TopicId::NONE`] if the broker is too old to report one.
    pub(crate) id: TopicId,
    /// The error that the broker reported for the topic.
    pub(crate) error: ErrorCode,
    /// Its partitions by index.
    pub(crate) partitions: Vec<PartitionInfo>,
}

/// The metadata of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionInfo {
    /// The leader; `None` while there is none.
    pub(crate) leader: Option<BrokerId>,
    /// The leader epoch.
    pub(crate) epoch: LeaderEpoch,
    /// All brokers assigned a replica.
    pub(crate) replicas: Vec<BrokerId>,
    /// The in-sync replicas.
    pub(crate) isr: Vec<BrokerId>,
}

impl Topology {
    /// Merges a metadata answer. Topics that it does not mention are kept, and so are leaders of a
    /// later epoch than the answer's: the broker that answered may lag behind.
    pub(crate) fn update(&mut self, answer: &MetadataResponse) {
        if !answer.brokers.is_empty() {
            self.brokers = answer.brokers.iter().filter_map(address).collect();
        }
        self.controller = (answer.controller_id >= 0).then_some(BrokerId(answer.controller_id));
        for topic in &answer.topics {
            let name = topic.name.as_deref().and_then(|name| name.parse::<TopicName>().ok());
            if let Some(name) = name {
                let mut info = TopicInfo::of(topic);
                if let Some(known) = self.topics.get(&name) {
                    info.keep_later(known);
                }
                self.topics.insert(name, info);
            }
        }
    }

    /// Replaces a partition's cached leader by the leader that a broker has named, if the named
    /// leader's epoch is later.
    pub(crate) fn take_over(&mut self, named: &NamedLeader) {
        let NamedLeader { topic, id, partition, leader, epoch, address } = named;
        let info = match topic.parse::<TopicName>() {
            Ok(name) => self.topics.get_mut(&name),
            Err(_) => self.topics.values_mut().find(|info| info.id == *id && *id != TopicId::NONE),
        };
        let place = usize::try_from(partition.0).ok();
        let known = info.zip(place).and_then(|(info, place)| info.partitions.get_mut(place));
        if let Some(known) = known.filter(|known| known.epoch < *epoch) {
            known.leader = Some(*leader);
            known.epoch = *epoch;
            self.brokers.insert(*leader, address.clone());
        }
    }

    /// Removes a topic, so that it is requested again.
    pub(crate) fn forget(&mut self, name: &TopicName) {
        self.topics.remove(name);
    }

    /// Returns a topic, if it was ever requested.
    pub(crate) fn topic(&self, name: &TopicName) -> Option<&TopicInfo> {
        self.topics.get(name)
    }

    /// Returns a broker's address.
    pub(crate) fn address(&self, broker: BrokerId) -> Option<&HostPort> {
        self.brokers.get(&broker)
    }

    /// Returns the broker at an address.
    pub(crate) fn broker_at(&self, address: &HostPort) -> Option<BrokerId> {
        self.brokers.iter().find(|(_, known)| *known == address).map(|(id, _)| *id)
    }

    /// Returns the addresses of all brokers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &HostPort> {
        self.brokers.values()
    }

    /// Returns the controller's address.
    pub(crate) fn controller(&self) -> Option<&HostPort> {
        self.controller.and_then(|broker| self.address(broker))
    }

    /// Returns the leader epoch of a partition; [`LeaderEpoch::NONE`] if unknown.
    pub(crate) fn leader_epoch(&self, topic: &TopicName, partition: PartitionIndex) -> LeaderEpoch {
        let known = self.topics.get(topic).and_then(|info| info.partition(partition));
        known.map_or(LeaderEpoch::NONE, |partition| partition.epoch)
    }

    /// Returns the address of a partition's leader.
    pub(crate) fn leader(&self, topic: &TopicName, partition: PartitionIndex) -> Option<&HostPort> {
        self.address(self.leader_id(topic, partition)?)
    }

    /// Returns the id of a partition's leader.
    pub(crate) fn leader_id(
        &self,
        topic: &TopicName,
        partition: PartitionIndex,
    ) -> Option<BrokerId> {
        self.topics.get(topic)?.partition(partition)?.leader
    }
}

impl TopicInfo {
    fn of(topic: &Topic) -> Self {
        let mut partitions = Vec::new();
        let mut rows: Vec<&Partition> = topic.partitions.iter().collect();
        rows.sort_by_key(|row| row.partition_index);
        for row in rows {
            // Indexes are contiguous from every broker; partitions after a gap are ignored.
            if usize::try_from(row.partition_index) == Ok(partitions.len()) {
                partitions.push(PartitionInfo::of(row));
            }
        }
        Self { id: topic.topic_id, error: topic.error_code, partitions }
    }

    /// Keeps the state of each partition that `known` has in a later leader epoch, if both have the
    /// same topic id.
    fn keep_later(&mut self, known: &Self) {
        if self.id == TopicId::NONE || self.id != known.id {
            return;
        }
        for (partition, known) in self.partitions.iter_mut().zip(&known.partitions) {
            if known.epoch > partition.epoch {
                *partition = known.clone();
            }
        }
    }

    /// Returns a partition by its index.
    pub(crate) fn partition(&self, partition: PartitionIndex) -> Option<&PartitionInfo> {
        self.partitions.get(usize::try_from(partition.0).ok()?)
    }
}

impl PartitionInfo {
    fn of(row: &Partition) -> Self {
        Self {
            leader: (row.leader_id >= 0).then_some(BrokerId(row.leader_id)),
            epoch: LeaderEpoch(row.leader_epoch),
            replicas: row.replica_nodes.iter().copied().map(BrokerId).collect(),
            isr: row.isr_nodes.iter().copied().map(BrokerId).collect(),
        }
    }
}

fn address(broker: &crate::wire::metadata::Broker) -> Option<(BrokerId, HostPort)> {
    let port = u16::try_from(broker.port).ok()?;
    Some((BrokerId(broker.node_id), HostPort::new(broker.host.clone(), port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::metadata::Broker;

    const ID: TopicId = TopicId([7; 16]);

    /// An answer in which this broker leads the only partition in this epoch.
    fn led(leader_id: i32, leader_epoch: i32) -> MetadataResponse {
        let partition = Partition { leader_id, leader_epoch, ..Partition::default() };
        let broker = |node_id| Broker { node_id, host: "h".into(), port: node_id, rack: None };
        let topic = Topic {
            name: Some("t".into()),
            topic_id: ID,
            partitions: vec![partition],
            ..Topic::default()
        };
        let brokers = vec![broker(1), broker(2)];
        MetadataResponse { brokers, topics: vec![topic], ..MetadataResponse::default() }
    }

    #[test]
    fn a_leader_of_a_later_epoch_stays_whatever_a_broker_that_lags_says() {
        let mut topology = Topology::default();
        let (name, partition) = ("t".parse().unwrap(), PartitionIndex(0));
        topology.update(&led(2, 6));
        topology.update(&led(1, 5));
        assert_eq!(topology.leader(&name, partition), Some(&HostPort::new("h", 2)));
        topology.update(&led(1, 7));
        assert_eq!(topology.leader(&name, partition), Some(&HostPort::new("h", 1)));
        let mut recreated = led(2, 0);
        recreated.topics[0].topic_id = TopicId([8; 16]);
        topology.update(&recreated);
        assert_eq!(topology.leader(&name, partition), Some(&HostPort::new("h", 2)));
    }

    #[test]
    fn a_named_leader_is_taken_over_unless_a_later_one_is_known() {
        let mut topology = Topology::default();
        topology.update(&led(1, 5));
        let (name, partition) = ("t".parse().unwrap(), PartitionIndex(0));
        let named = |topic: &str, epoch| NamedLeader {
            topic: topic.to_owned(),
            id: if topic.is_empty() { ID } else { TopicId::NONE },
            partition,
            leader: BrokerId(3),
            epoch: LeaderEpoch(epoch),
            address: HostPort::new("new", 3),
        };
        topology.take_over(&named("t", 5));
        assert_eq!(topology.leader(&name, partition), Some(&HostPort::new("h", 1)));
        for (topic, epoch) in [("t", 6), ("", 7)] {
            topology.take_over(&named(topic, epoch));
            assert_eq!(topology.leader(&name, partition), Some(&HostPort::new("new", 3)));
            let known = topology.topic(&name).unwrap().partition(partition).unwrap();
            assert_eq!(known.epoch, LeaderEpoch(epoch));
        }
    }

    fn answer(leader_id: i32) -> MetadataResponse {
        let partition = Partition { partition_index: 0, leader_id, ..Partition::default() };
        let beyond = Partition { partition_index: 7, leader_id, ..Partition::default() };
        MetadataResponse {
            brokers: vec![Broker { node_id: 1, host: "h".into(), port: 9, rack: None }],
            controller_id: 1,
            topics: vec![Topic {
                name: Some("t".into()),
                partitions: vec![beyond, partition],
                ..Topic::default()
            }],
            ..MetadataResponse::default()
        }
    }

    #[test]
    fn the_latest_answer_about_a_topic_replaces_the_one_before() {
        let mut topology = Topology::default();
        let name: TopicName = "t".parse().unwrap();
        topology.update(&answer(-1));
        assert_eq!(topology.leader(&name, PartitionIndex(0)), None);
        topology.update(&answer(1));
        let host = HostPort::new("h", 9);
        assert_eq!(topology.leader(&name, PartitionIndex(0)), Some(&host));
        assert_eq!(topology.controller(), Some(&host));
        topology.update(&MetadataResponse { topics: vec![], ..answer(1) });
        assert_eq!(topology.leader(&name, PartitionIndex(0)), Some(&host));
        assert_eq!(topology.topic(&name).unwrap().partitions.len(), 1);
    }
}
