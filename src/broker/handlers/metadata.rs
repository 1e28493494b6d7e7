//! `Metadata`: brokers, topics, and the leaders of their partitions. A request may create a topic.

use std::collections::HashSet;
use std::sync::Arc;

use crate::broker::access::{Addresses, Topics};
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::settings::Settings;
use crate::broker::topics::wait_limit;
use crate::metadata::{Image, Partition as PartitionImage, Topic as TopicImage, TopicState};
use crate::types::{LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::wire::ErrorCode;
use crate::wire::metadata::{
    AwaitedTopic, MetadataRequest, MetadataResponse, Partition, RequestTopic, Topic,
};

pub(crate) type Request = MetadataRequest;

/// The authorized operations of the cluster as a bit mask: everything from Create to
/// `IdempotentWrite` except Delete. Nothing is denied.
pub(crate) const ALL_CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;
/// The authorized operations of a topic.
pub(crate) const ALL_TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;

/// Describes the cluster.
pub(crate) async fn handle(
    call: &Call<'_>,
    addresses: &Addresses<'_>,
    settings: &Settings<'_>,
    topics: &Topics<'_>,
    request: Request,
) -> MetadataResponse {
    let all = request.topics.as_ref().is_none_or(|topics| call.version == 0 && topics.is_empty());
    let wanted = if all { Vec::new() } else { request.topics.clone().unwrap_or_default() };
    let refused = if request.allow_auto_topic_creation && settings.in_force().auto_create_topics {
        make_missing(call, topics, &wanted).await
    } else {
        HashSet::new()
    };
    let is_late = !catch_up(topics, &request, &wanted).await;
    let image = topics.image();
    let mut topics: Vec<Topic> = if all {
        image.topics().filter_map(|topic| visible(call, &image, topic)).collect()
    } else {
        once(&wanted).map(|wanted| find(call, &image, wanted)).collect()
    };
    for topic in topics.iter_mut().filter(|t| t.error_code == ErrorCode::UnknownTopicOrPartition) {
        if topic.name.as_ref().is_some_and(|name| refused.contains(name)) {
            topic.error_code = ErrorCode::InvalidPartitions;
        }
    }
    if is_late {
        for topic in &mut topics {
            topic.error_code = ErrorCode::RequestTimedOut;
        }
    }
    if request.include_topic_authorized_operations {
        for topic in &mut topics {
            topic.topic_authorized_operations = ALL_TOPIC_OPERATIONS;
        }
    }
    let mut response = MetadataResponse {
        brokers: addresses.brokers(&image),
        cluster_id: Some(image.cluster_id().to_owned()),
        controller_id: addresses.controller(&image).0,
        topics,
        ..MetadataResponse::default()
    };
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS;
    }
    response
}

/// Waits, on another broker's request, until this broker serves the topics in the states that the
/// other broker knows. Returns false if that takes longer than the request allows.
async fn catch_up(topics: &Topics<'_>, request: &Request, wanted: &[RequestTopic]) -> bool {
    let awaits = |topic: &&RequestTopic| topic.awaited != AwaitedTopic::default();
    let states: Vec<TopicState> = wanted.iter().filter(awaits).map(state).collect();
    states.is_empty() || topics.caught_up(&states, wait_limit(request.applied_within_ms)).await
}

fn state(topic: &RequestTopic) -> TopicState {
    let AwaitedTopic { is_deleted, leader_epochs, config_version } = &topic.awaited;
    let epochs = || leader_epochs.iter().copied().map(LeaderEpoch).collect();
    TopicState {
        id: topic.topic_id,
        leader_epochs: (!is_deleted).then(epochs),
        config_version: Some(*config_version).filter(|version| *version >= 0),
    }
}

/// The requested topics without repetitions.
fn once(wanted: &[RequestTopic]) -> impl Iterator<Item = &RequestTopic> {
    let mut seen = HashSet::new();
    wanted.iter().filter(move |topic| seen.insert((topic.name.as_deref(), topic.topic_id)))
}

/// Creates the requested topics that do not exist. Returns the names of those that would exceed the
/// broker's maximum number of partitions.
async fn make_missing(
    call: &Call<'_>,
    topics: &Topics<'_>,
    wanted: &[RequestTopic],
) -> HashSet<String> {
    let mut refused = HashSet::new();
    for name in wanted.iter().filter_map(|topic| topic.name.as_deref()) {
        let Ok(name) = name.parse::<TopicName>() else { continue };
        let known = topics.image().topic(&name).is_some();
        let allowed = call.session.may(Operation::Create, Resource::Topic(name.as_str()));
        if known || !allowed || name.is_internal() {
            continue;
        }
        if let Err(error) = topics.create_missing(name.clone()).await {
            tracing::warn!("topic {name} was requested and could not be created: {error}");
            if error.code == ErrorCode::InvalidPartitions {
                refused.insert(name.to_string());
            }
        }
    }
    refused
}

fn find(call: &Call<'_>, image: &Arc<Image>, wanted: &RequestTopic) -> Topic {
    let refused = |code| Topic {
        error_code: code,
        name: wanted.name.clone(),
        topic_id: wanted.topic_id,
        ..Topic::default()
    };
    let (found, unknown) = match (&wanted.name, wanted.topic_id) {
        (Some(name), TopicId::NONE) => match name.parse::<TopicName>() {
            Ok(name) => (image.topic(&name), ErrorCode::UnknownTopicOrPartition),
            Err(_) => return refused(ErrorCode::InvalidTopicException),
        },
        (_, id) => (image.topic_by_id(id), ErrorCode::UnknownTopicId),
    };
    let name = found.map(|topic| topic.name.as_str()).or(wanted.name.as_deref());
    if !call.session.may(Operation::Describe, Resource::Topic(name.unwrap_or_default())) {
        return refused(ErrorCode::TopicAuthorizationFailed);
    }
    found.map_or_else(|| refused(unknown), |topic| describe(image, topic))
}

fn visible(call: &Call<'_>, image: &Image, topic: &TopicImage) -> Option<Topic> {
    let resource = Resource::Topic(topic.name.as_str());
    call.session.may(Operation::Describe, resource).then(|| describe(image, topic))
}

fn describe(image: &Image, topic: &TopicImage) -> Topic {
    let partition = |(index, described)| partition(image, (topic.id, index), described);
    Topic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: topic.name.is_internal(),
        partitions: topic.numbered().map(partition).collect(),
        ..Topic::default()
    }
}

fn partition(
    image: &Image,
    id: (TopicId, PartitionIndex),
    described: &PartitionImage,
) -> Partition {
    let leader = image.live_leader(described);
    Partition {
        error_code: leader.map_or(ErrorCode::LeaderNotAvailable, |_| ErrorCode::None),
        partition_index: id.1.0,
        leader_id: leader.map_or(-1, |broker| broker.0),
        leader_epoch: described.leader_epoch().0,
        replica_nodes: described.replicas.iter().map(|broker| broker.0).collect(),
        isr_nodes: described.isr().iter().map(|member| member.broker.0).collect(),
        offline_replicas: image.offline_replicas(id, described).map(|broker| broker.0).collect(),
    }
}
