//! `OffsetDelete`: deletes offsets of a group, except for topics that its members consume.

use std::collections::HashMap;

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::Groups;
use crate::broker::errors::Coded;
use crate::group::{DeleteOffsetsRequest, GroupId};
use crate::metadata::Image;
use crate::types::{PartitionIndex, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::offset_delete::{OffsetDeleteRequest, OffsetDeleteResponse, Partition, Topic};

pub(crate) type Request = OffsetDeleteRequest;

/// Deletes the offsets of existing partitions.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> OffsetDeleteResponse {
    let refused =
        |error_code| OffsetDeleteResponse { error_code, ..OffsetDeleteResponse::default() };
    if !call.session.may(Operation::Delete, Resource::Group(&request.group_id)) {
        return refused(ErrorCode::GroupAuthorizationFailed);
    }
    let group_id = GroupId::from(request.group_id.as_str());
    let partitions = known(call, &cluster.image(), &request);
    let question = DeleteOffsetsRequest { group_id: group_id.clone(), partitions };
    match groups.ask(&group_id, question).await {
        Ok(results) => {
            let errors = results.into_iter().map(|(partition, result)| {
                (partition, result.err().as_ref().map(Coded::error_code).unwrap_or_default())
            });
            answer(call, &request, &errors.collect())
        }
        Err(error) => refused(error.error_code()),
    }
}

/// The requested partitions that exist and that this client may read.
fn known(call: &Call<'_>, image: &Image, request: &Request) -> Vec<TopicPartition> {
    let mut partitions = Vec::new();
    for topic in request.topics.iter().filter(|topic| may_read(call, &topic.name)) {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        for wanted in &topic.partitions {
            let partition = PartitionIndex(wanted.partition_index);
            if image.partition(&name, partition).is_some() {
                partitions.push(TopicPartition { topic: name.clone(), partition });
            }
        }
    }
    partitions
}

fn answer(
    call: &Call<'_>,
    request: &Request,
    errors: &HashMap<TopicPartition, ErrorCode>,
) -> OffsetDeleteResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let name = topic.name.parse::<TopicName>();
        let error_of = |index: i32| match &name {
            _ if !may_read(call, &topic.name) => ErrorCode::TopicAuthorizationFailed,
            Ok(name) => {
                let id = TopicPartition { topic: name.clone(), partition: PartitionIndex(index) };
                errors.get(&id).copied().unwrap_or(ErrorCode::UnknownTopicOrPartition)
            }
            Err(_) => ErrorCode::UnknownTopicOrPartition,
        };
        let partitions = topic.partitions.iter().map(|wanted| Partition {
            partition_index: wanted.partition_index,
            error_code: error_of(wanted.partition_index),
        });
        topics.push(Topic { name: topic.name.clone(), partitions: partitions.collect() });
    }
    OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() }
}

fn may_read(call: &Call<'_>, topic: &str) -> bool {
    call.session.may(Operation::Read, Resource::Topic(topic))
}
