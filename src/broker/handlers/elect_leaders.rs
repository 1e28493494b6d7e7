//! `ElectLeaders`: returns partitions to their preferred leaders.
//!
//! A leader that is alive keeps its partitions, since leaders do not hand over yet: the preferred
//! replica leads again when another election is due. So this only reports the current state. An
//! unclean election, which may lose records, is never held on request: that needs
//! an operator at the broker.

use std::future::{Ready, ready};

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::metadata::{Image, Partition as PartitionImage};
use crate::types::{PartitionIndex, TopicName};
use crate::wire::ErrorCode;
use crate::wire::elect_leaders::{
    ElectLeadersRequest, ElectLeadersResponse, PREFERRED, Partition, RequestTopic, Topic, UNCLEAN,
};

pub(crate) type Request = ElectLeadersRequest;

/// Reports for each partition whether it has the requested leader.
pub(crate) fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> Ready<ElectLeadersResponse> {
    let refused =
        |error_code| ready(ElectLeadersResponse { error_code, ..ElectLeadersResponse::default() });
    if !call.session.may(Operation::Alter, Resource::Cluster) {
        return refused(ErrorCode::ClusterAuthorizationFailed);
    }
    let kind = request.election_type;
    if !matches!(kind, PREFERRED | UNCLEAN) {
        return refused(ErrorCode::InvalidRequest);
    }
    let image = cluster.image();
    let replica_election_results = match request.topic_partitions {
        Some(topics) => topics.into_iter().map(|topic| named(&image, kind, topic)).collect(),
        None => all(&image, kind),
    };
    ready(ElectLeadersResponse { replica_election_results, ..ElectLeadersResponse::default() })
}

/// The results of the requested partitions.
fn named(image: &Image, kind: i8, topic: RequestTopic) -> Topic {
    let name = topic.topic.parse::<TopicName>().ok();
    let answer = |index: i32| {
        let image = name.as_ref().and_then(|name| image.partition(name, PartitionIndex(index)));
        partition(index, outcome(image, kind))
    };
    let partition_result = topic.partitions.into_iter().map(answer).collect();
    Topic { topic: topic.topic, partition_result }
}

/// The results of all partitions that need another leader; others are left out.
fn all(image: &Image, kind: i8) -> Vec<Topic> {
    let mut topics = Vec::new();
    for topic in image.topics() {
        let needy = topic.numbered().filter_map(|(index, image)| {
            let refusal = outcome(Some(image), kind);
            (refusal.code != ErrorCode::ElectionNotNeeded).then(|| partition(index.0, refusal))
        });
        let partition_result: Vec<_> = needy.collect();
        if !partition_result.is_empty() {
            topics.push(Topic { topic: topic.name.to_string(), partition_result });
        }
    }
    topics
}

/// The result of one partition.
fn outcome(partition: Option<&PartitionImage>, kind: i8) -> Refusal {
    let Some(partition) = partition else {
        return Refusal::of(ErrorCode::UnknownTopicOrPartition);
    };
    let leader = partition.leader();
    match kind {
        UNCLEAN if leader.is_some() => {
            Refusal::because(ErrorCode::ElectionNotNeeded, &"the partition has a leader")
        }
        UNCLEAN => Refusal::because(
            ErrorCode::EligibleLeadersNotAvailable,
            &"no replica that has all records is alive, and others are not elected on request",
        ),
        _ if leader.is_some() && leader == partition.replicas.first().copied() => {
            Refusal::because(ErrorCode::ElectionNotNeeded, &"the preferred leader leads")
        }
        _ if leader.is_some() && is_preferred_in_sync(partition) => Refusal::because(
            ErrorCode::PreferredLeaderNotAvailable,
            &"the preferred leader is in sync, but a leader that is alive does not hand over: it \
              leads again after a restart of the other broker",
        ),
        _ => Refusal::because(
            ErrorCode::PreferredLeaderNotAvailable,
            &"the preferred leader is not alive, or has not caught up",
        ),
    }
}

fn is_preferred_in_sync(partition: &PartitionImage) -> bool {
    let preferred = partition.replicas.first();
    partition.isr().iter().any(|member| Some(&member.broker) == preferred)
}

fn partition(partition_id: i32, refusal: Refusal) -> Partition {
    Partition { partition_id, error_code: refusal.code, error_message: refusal.message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::BrokerId;

    #[test]
    fn a_request_does_not_elect_a_leader_for_a_partition_without_one() {
        let partition = PartitionImage { replicas: [BrokerId(1)].into(), state: None };
        let code = |kind| outcome(Some(&partition), kind).code;
        assert_eq!(code(PREFERRED), ErrorCode::PreferredLeaderNotAvailable);
        assert_eq!(code(UNCLEAN), ErrorCode::EligibleLeadersNotAvailable);
        assert_eq!(outcome(None, PREFERRED).code, ErrorCode::UnknownTopicOrPartition);
    }
}
