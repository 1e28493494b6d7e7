//! `OffsetCommit`: stores the offsets of a group. Answered when they are replicated.

use std::collections::HashMap;
use std::time::Duration;

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, claim};
use crate::broker::errors::Coded;
use crate::group::{CommitRequest, GroupId, NewOffset};
use crate::metadata::Image;
use crate::types::{LeaderEpoch, PartitionIndex, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, Partition, RequestPartition, RequestTopic, Topic,
};

pub(crate) type Request = OffsetCommitRequest;

/// The first version that identifies topics by id.
const BY_ID_SINCE: i16 = 10;

/// Stores the offsets of existing partitions.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> OffsetCommitResponse {
    let group = Resource::Group(&request.group_id);
    let allowed = call.session.may(Operation::Read, group);
    let image = cluster.image();
    let mut offsets = Vec::new();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            let checked = if allowed {
                check(call, &image, topic, wanted)
            } else {
                Err(ErrorCode::GroupAuthorizationFailed)
            };
            let error_code = match checked {
                Ok(offset) => {
                    offsets.push(offset);
                    ErrorCode::None
                }
                Err(code) => code,
            };
            partitions.push(Partition { partition_index: wanted.partition_index, error_code });
        }
        topics.push(Topic { name: topic.name.clone(), topic_id: topic.topic_id, partitions });
    }
    if !offsets.is_empty() {
        let failures = store(groups, &request, offsets).await;
        add_failures(&mut topics, &failures, &image);
    }
    OffsetCommitResponse { topics, ..OffsetCommitResponse::default() }
}

fn check(
    call: &Call<'_>,
    image: &Image,
    topic: &RequestTopic,
    wanted: &RequestPartition,
) -> Result<NewOffset, ErrorCode> {
    let (found, unknown) = if call.version >= BY_ID_SINCE {
        (image.topic_by_id(topic.topic_id), ErrorCode::UnknownTopicId)
    } else {
        let named = topic.name.parse().ok().and_then(|name: TopicName| image.topic(&name));
        (named, ErrorCode::UnknownTopicOrPartition)
    };
    let name = found.map_or(topic.name.as_str(), |found| found.name.as_str());
    if !call.session.may(Operation::Read, Resource::Topic(name)) {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let found = found.ok_or(unknown)?;
    let partition = PartitionIndex(wanted.partition_index);
    found.partition(partition).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let (topic, topic_id) = (found.name.clone(), found.id);
    Ok(NewOffset {
        partition: TopicPartition { topic, partition },
        offset: wanted.committed_offset,
        leader_epoch: LeaderEpoch(wanted.committed_leader_epoch),
        metadata: wanted.committed_metadata.as_deref().unwrap_or_default().into(),
        topic_id,
    })
}

/// Stores the offsets, and returns the partitions that failed, each with the reason.
async fn store(
    groups: &Groups<'_>,
    request: &Request,
    offsets: Vec<NewOffset>,
) -> HashMap<TopicPartition, ErrorCode> {
    let group_id = GroupId::from(request.group_id.as_str());
    let instance = request.group_instance_id.as_deref();
    let generation = request.generation_id_or_member_epoch;
    let partitions: Vec<_> = offsets.iter().map(|new| new.partition.clone()).collect();
    let question = CommitRequest {
        group_id: group_id.clone(),
        claim: claim(&request.member_id, instance, generation),
        retention: u64::try_from(request.retention_time_ms).ok().map(Duration::from_millis),
        offsets,
    };
    match groups.ask(&group_id, question).await {
        Ok(results) => results
            .into_iter()
            .filter_map(|(partition, result)| Some((partition, result.err()?.error_code())))
            .collect(),
        Err(error) => {
            let code = error.error_code();
            partitions.into_iter().map(|partition| (partition, code)).collect()
        }
    }
}

/// Adds the coordinator's refusals to the response.
fn add_failures(
    topics: &mut [Topic],
    failures: &HashMap<TopicPartition, ErrorCode>,
    image: &Image,
) {
    if failures.is_empty() {
        return;
    }
    for topic in topics {
        let named = image.topic_by_id(topic.topic_id).map(|found| found.name.clone());
        let Some(name) = named.or_else(|| topic.name.parse().ok()) else { continue };
        for partition in &mut topic.partitions {
            let index = PartitionIndex(partition.partition_index);
            let key = TopicPartition { topic: name.clone(), partition: index };
            if let Some(code) = failures.get(&key).filter(|_| !partition.error_code.is_error()) {
                partition.error_code = *code;
            }
        }
    }
}
