//! `AlterPartitionReassignments`: moves partitions to other brokers.
//!
//! Moving is not supported: a request for the current assignment succeeds, anything else is refused
//! partition by partition.

use std::collections::HashSet;
use std::future::{Ready, ready};

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::metadata::Image;
use crate::types::{BrokerId, PartitionIndex, TopicName};
use crate::wire::ErrorCode;
use crate::wire::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, Partition,
    RequestPartition, RequestTopic, Topic,
};

pub(crate) type Request = AlterPartitionReassignmentsRequest;

/// Checks every partition independently.
pub(crate) fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> Ready<AlterPartitionReassignmentsResponse> {
    let mut response = AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: request.allow_replication_factor_change,
        ..AlterPartitionReassignmentsResponse::default()
    };
    if call.session.may(Operation::Alter, Resource::Cluster) {
        let image = cluster.image();
        let topics = request.topics.into_iter();
        response.responses = topics.map(|topic| answer(&image, topic)).collect();
    } else {
        response.error_code = ErrorCode::ClusterAuthorizationFailed;
    }
    ready(response)
}

fn answer(image: &Image, topic: RequestTopic) -> Topic {
    let answer = |wanted: RequestPartition| {
        let replicas = replicas_of(image, &topic.name, wanted.partition_index);
        let judged = replicas.and_then(|now| judge(image, now, wanted.replicas.as_deref()));
        let refusal = judged.err();
        Partition {
            partition_index: wanted.partition_index,
            error_code: refusal.as_ref().map_or(ErrorCode::None, |refusal| refusal.code),
            error_message: refusal.and_then(|refusal| refusal.message),
        }
    };
    let partitions = topic.partitions.into_iter().map(answer).collect();
    Topic { name: topic.name, partitions }
}

fn replicas_of<'a>(image: &'a Image, topic: &str, index: i32) -> Result<&'a [BrokerId], Refusal> {
    let name = topic.parse::<TopicName>().ok();
    let partition = name.and_then(|name| image.partition(&name, PartitionIndex(index)));
    let unknown = || Refusal::of(ErrorCode::UnknownTopicOrPartition);
    Ok(&partition.ok_or_else(unknown)?.replicas)
}

/// Checks whether a partition with these replicas may be reassigned to `wanted`.
fn judge(image: &Image, now: &[BrokerId], wanted: Option<&[i32]>) -> Result<(), Refusal> {
    let Some(wanted) = wanted else {
        return Err(Refusal::of(ErrorCode::NoReassignmentInProgress));
    };
    let invalid = |cause: &str| Refusal::because(ErrorCode::InvalidReplicaAssignment, &cause);
    let distinct: HashSet<_> = wanted.iter().collect();
    if wanted.is_empty() || distinct.len() < wanted.len() {
        return Err(invalid("a partition needs at least one replica, each on another broker"));
    }
    if wanted.iter().any(|broker| image.broker(BrokerId(*broker)).is_none()) {
        return Err(invalid("there is no such broker"));
    }
    if !wanted.iter().copied().map(BrokerId).eq(now.iter().copied()) {
        return Err(invalid("moving partitions to other brokers is not supported"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_reassignments_are_refused_and_none_can_be_cancelled() {
        let image = Image::default();
        let now = [BrokerId(1)];
        let code = |wanted: Option<&[i32]>| judge(&image, &now, wanted).unwrap_err().code;
        assert_eq!(code(None), ErrorCode::NoReassignmentInProgress);
        for wanted in [&[][..], &[1, 1], &[7]] {
            assert_eq!(code(Some(wanted)), ErrorCode::InvalidReplicaAssignment, "{wanted:?}");
        }
    }
}
