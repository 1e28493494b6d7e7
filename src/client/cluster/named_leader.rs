//! The leader that a broker names when it refuses a partition that it does not lead (KIP-951).

use std::collections::HashMap;

use crate::config::HostPort;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};
use crate::wire::{FetchResponse, ProduceResponse, fetch, produce};

/// A partition's leader with its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedLeader {
    /// The name of the topic; empty if the response identifies it by its id.
    pub(crate) topic: String,
    /// The id of the topic; [`TopicId::NONE`] if the response identifies it by its name.
    pub(crate) id: TopicId,
    /// The partition.
    pub(crate) partition: PartitionIndex,
    /// The leader.
    pub(crate) leader: BrokerId,
    /// The leader epoch.
    pub(crate) epoch: LeaderEpoch,
    /// The address of the leader.
    pub(crate) address: HostPort,
}

impl NamedLeader {
    /// The leaders that a response to a producer names.
    pub(crate) fn in_produced(answer: &ProduceResponse) -> Vec<Self> {
        let endpoint = |e: &produce::NodeEndpoint| (e.node_id, address(&e.host, e.port));
        let addresses: HashMap<i32, _> = answer.node_endpoints.iter().map(endpoint).collect();
        let of = |topic: &produce::Topic, row: &produce::Partition| {
            let produce::LeaderIdAndEpoch { leader_id, leader_epoch } = row.current_leader;
            Some(Self {
                topic: topic.name.clone(),
                id: topic.topic_id,
                partition: PartitionIndex(row.index),
                leader: BrokerId(leader_id),
                epoch: LeaderEpoch(leader_epoch),
                address: addresses.get(&leader_id)?.clone()?,
            })
        };
        if addresses.is_empty() {
            return Vec::new();
        }
        let topics = answer.topics.iter();
        topics.flat_map(|topic| topic.partitions.iter().filter_map(|row| of(topic, row))).collect()
    }

    /// The leaders that a response to a consumer names.
    pub(crate) fn in_fetched(answer: &FetchResponse) -> Vec<Self> {
        let endpoint = |e: &fetch::NodeEndpoint| (e.node_id, address(&e.host, e.port));
        let addresses: HashMap<i32, _> = answer.node_endpoints.iter().map(endpoint).collect();
        let of = |topic: &fetch::Topic, row: &fetch::Partition| {
            let fetch::LeaderIdAndEpoch { leader_id, leader_epoch } = row.current_leader;
            Some(Self {
                topic: topic.topic.clone(),
                id: topic.topic_id,
                partition: PartitionIndex(row.partition_index),
                leader: BrokerId(leader_id),
                epoch: LeaderEpoch(leader_epoch),
                address: addresses.get(&leader_id)?.clone()?,
            })
        };
        if addresses.is_empty() {
            return Vec::new();
        }
        let topics = answer.topics.iter();
        topics.flat_map(|topic| topic.partitions.iter().filter_map(|row| of(topic, row))).collect()
    }
}

fn address(host: &str, port: i32) -> Option<HostPort> {
    Some(HostPort::new(host.to_owned(), u16::try_from(port).ok()?))
}
