//! The leader that a broker names when it refuses a partition that it does not lead (KIP-951).

use std::collections::HashMap;

use crate::config::HostPort;
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};
use crate::wire::{FetchResponse, LeaderIdAndEpoch, NodeEndpoint, ProduceResponse};

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

/// A partition in a response, with the leader that the response names.
struct Row<'a> {
    topic: &'a str,
    id: TopicId,
    partition: i32,
    leader: &'a LeaderIdAndEpoch,
}

impl NamedLeader {
    /// The leaders that a response to a producer names.
    pub(crate) fn in_produced(answer: &ProduceResponse) -> Vec<Self> {
        let rows = answer.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|row| Row {
                topic: &topic.name,
                id: topic.topic_id,
                partition: row.index,
                leader: &row.current_leader,
            })
        });
        Self::in_rows(&answer.node_endpoints, rows)
    }

    /// The leaders that a response to a consumer names.
    pub(crate) fn in_fetched(answer: &FetchResponse) -> Vec<Self> {
        let rows = answer.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|row| Row {
                topic: &topic.topic,
                id: topic.topic_id,
                partition: row.partition_index,
                leader: &row.current_leader,
            })
        });
        Self::in_rows(&answer.node_endpoints, rows)
    }

    /// The leaders named in `rows` whose addresses are among `endpoints`.
    fn in_rows<'a>(endpoints: &[NodeEndpoint], rows: impl Iterator<Item = Row<'a>>) -> Vec<Self> {
        if endpoints.is_empty() {
            return Vec::new();
        }
        let endpoint = |e: &NodeEndpoint| (e.node_id, address(&e.host, e.port));
        let addresses: HashMap<i32, _> = endpoints.iter().map(endpoint).collect();
        let named = |Row { topic, id, partition, leader }: Row<'_>| {
            Some(Self {
                topic: topic.to_owned(),
                id,
                partition: PartitionIndex(partition),
                leader: BrokerId(leader.leader_id),
                epoch: LeaderEpoch(leader.leader_epoch),
                address: addresses.get(&leader.leader_id)?.clone()?,
            })
        };
        rows.filter_map(named).collect()
    }
}

fn address(host: &str, port: i32) -> Option<HostPort> {
    Some(HostPort::new(host.to_owned(), u16::try_from(port).ok()?))
}
