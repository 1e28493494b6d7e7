//! Committed offsets of groups: building `OffsetCommit` and `OffsetFetch`, reading answers.

use std::collections::BTreeMap;

use crate::client::ClientError;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicName, TopicPartition};
use crate::wire::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
    offset_commit, offset_fetch,
};

/// Builds a request that stores offsets for a group without being a member of it. Each offset has
/// the leader epoch of the record before it, if known: without it, the offset cannot be checked
/// against the log of a new leader (KAFKA-20507).
pub(crate) fn request(
    group: &str,
    offsets: &[(TopicPartition, Offset)],
    epochs: &BTreeMap<TopicPartition, LeaderEpoch>,
) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&TopicName, Vec<offset_commit::RequestPartition>> = BTreeMap::new();
    for (partition, offset) in offsets {
        let row = offset_commit::RequestPartition {
            partition_index: partition.partition.0,
            committed_offset: offset.get(),
            committed_leader_epoch: epochs.get(partition).unwrap_or(&LeaderEpoch::NONE).0,
            ..offset_commit::RequestPartition::default()
        };
        topics.entry(&partition.topic).or_default().push(row);
    }
    let topic = |(name, partitions): (&TopicName, _)| offset_commit::RequestTopic {
        name: name.as_str().to_owned(),
        partitions,
        ..offset_commit::RequestTopic::default()
    };
    OffsetCommitRequest {
        group_id: group.to_owned(),
        topics: topics.into_iter().map(topic).collect(),
        ..OffsetCommitRequest::default()
    }
}

/// Returns the first error among the partitions of an `OffsetCommit` answer.
pub(crate) fn check(answer: &OffsetCommitResponse) -> Result<(), ClientError> {
    let mut rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
    rows.try_for_each(|row| ClientError::check(row.error_code, "committing offsets", None))
}

/// Builds a request for the committed offsets of these partitions; `None` asks for all partitions.
pub(crate) fn question(group: &str, partitions: Option<&[TopicPartition]>) -> OffsetFetchRequest {
    let topics = partitions.map(by_topic);
    OffsetFetchRequest {
        group_id: group.to_owned(),
        topics: topics.clone(),
        // Versions up to 7 carry `group_id` and `topics`, later ones carry `groups`.
        groups: vec![offset_fetch::RequestGroup {
            group_id: group.to_owned(),
            topics,
            ..offset_fetch::RequestGroup::default()
        }],
        ..OffsetFetchRequest::default()
    }
}

fn by_topic(partitions: &[TopicPartition]) -> Vec<offset_fetch::RequestTopic> {
    let mut topics: BTreeMap<&TopicName, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(&partition.topic).or_default().push(partition.partition.0);
    }
    let topic = |(name, partition_indexes): (&TopicName, _)| offset_fetch::RequestTopic {
        name: name.as_str().to_owned(),
        partition_indexes,
        ..offset_fetch::RequestTopic::default()
    };
    topics.into_iter().map(topic).collect()
}

/// Reads the committed offsets; partitions without one are left out.
pub(crate) fn read(
    answer: &OffsetFetchResponse,
) -> Result<BTreeMap<TopicPartition, Offset>, ClientError> {
    let about = "fetching committed offsets";
    ClientError::check(answer.error_code, about, None)?;
    let mut rows: Vec<&offset_fetch::Topic> = answer.topics.iter().collect();
    for group in &answer.groups {
        ClientError::check(group.error_code, about, None)?;
        rows.extend(&group.topics);
    }
    let mut stored = BTreeMap::new();
    for topic in rows {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        for row in &topic.partitions {
            ClientError::check(row.error_code, about, None)?;
            let partition = PartitionIndex(row.partition_index);
            if let Some(offset) = Offset::checked(row.committed_offset) {
                stored.insert(TopicPartition { topic: name.clone(), partition }, offset);
            }
        }
    }
    Ok(stored)
}

/// Reads the leader epochs that were committed with the offsets.
pub(crate) fn read_epochs(answer: &OffsetFetchResponse) -> BTreeMap<TopicPartition, LeaderEpoch> {
    let of_groups = answer.groups.iter().flat_map(|group| &group.topics);
    let mut epochs = BTreeMap::new();
    for topic in answer.topics.iter().chain(of_groups) {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        for row in topic.partitions.iter().filter(|row| row.committed_leader_epoch >= 0) {
            let partition = PartitionIndex(row.partition_index);
            let partition = TopicPartition { topic: name.clone(), partition };
            epochs.insert(partition, LeaderEpoch(row.committed_leader_epoch));
        }
    }
    epochs
}
