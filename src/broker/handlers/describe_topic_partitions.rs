//! `DescribeTopicPartitions`: topics by name, page by page, with the replicas of their partitions.

use std::collections::BTreeSet;
use std::future::{Ready, ready};

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::handlers::metadata::ALL_TOPIC_OPERATIONS;
use crate::metadata::{Image, Partition as PartitionImage, Topic as TopicImage};
use crate::types::{PartitionIndex, TopicId, TopicName};
use crate::wire::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, Partition, Topic,
};
use crate::wire::{ErrorCode, Marked};

pub(crate) type Request = DescribeTopicPartitionsRequest;

/// The maximum number of partitions per page.
const PAGE_MAX: usize = 2_000;

/// Describes one page.
pub(crate) fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    request: Request,
) -> Ready<DescribeTopicPartitionsResponse> {
    let image = cluster.image();
    let names: BTreeSet<String> = if request.topics.is_empty() {
        let may_see = |topic: &&str| call.session.may(Operation::Describe, Resource::Topic(topic));
        image.topics().map(|topic| topic.name.as_str()).filter(may_see).map(str::to_owned).collect()
    } else {
        request.topics.into_iter().map(|topic| topic.name).collect()
    };
    let cursor = request.cursor.map(|Marked(cursor)| cursor).unwrap_or_default();
    let limit = usize::try_from(request.response_partition_limit).unwrap_or(1);
    let mut page =
        Page { image: &image, remaining: limit.clamp(1, PAGE_MAX), topics: Vec::new(), next: None };
    for name in names.range(cursor.topic_name.clone()..) {
        let from = if *name == cursor.topic_name { cursor.partition_index } else { 0 };
        page.add(call, name, from);
        if page.next.is_some() {
            break;
        }
    }
    ready(DescribeTopicPartitionsResponse {
        topics: page.topics,
        next_cursor: page.next.map(Marked),
        ..DescribeTopicPartitionsResponse::default()
    })
}

/// A page under construction.
struct Page<'a> {
    image: &'a Image,
    /// The number of partitions that still fit.
    remaining: usize,
    topics: Vec<Topic>,
    /// The first partition that did not fit.
    next: Option<Cursor>,
}

impl Page<'_> {
    /// Adds the partitions of a topic from index `from` on, as far as they fit.
    fn add(&mut self, call: &Call<'_>, name: &str, from: i32) {
        if self.remaining == 0 {
            self.next = Some(Cursor { topic_name: name.to_owned(), partition_index: from });
            return;
        }
        let topic = match find(call, self.image, name) {
            Ok(topic) => topic,
            Err(error_code) => return self.topics.push(refused(name, error_code)),
        };
        let Ok(first) = usize::try_from(from) else {
            return self.topics.push(refused(name, ErrorCode::InvalidRequest));
        };
        let mut rest = topic.numbered().skip(first);
        let partitions: Vec<_> = rest
            .by_ref()
            .take(self.remaining)
            .map(|(index, described)| self.partition((topic.id, index), described))
            .collect();
        self.remaining -= partitions.len();
        self.next = rest
            .next()
            .map(|(index, _)| Cursor { topic_name: name.to_owned(), partition_index: index.0 });
        self.topics.push(Topic {
            name: Some(name.to_owned()),
            topic_id: topic.id,
            is_internal: topic.name.is_internal(),
            partitions,
            topic_authorized_operations: ALL_TOPIC_OPERATIONS,
            ..Topic::default()
        });
    }

    fn partition(&self, id: (TopicId, PartitionIndex), described: &PartitionImage) -> Partition {
        let leader = self.image.live_leader(described);
        let offline = self.image.offline_replicas(id, described);
        let eligible = described.state.iter().flat_map(|state| &state.eligible);
        Partition {
            error_code: leader.map_or(ErrorCode::LeaderNotAvailable, |_| ErrorCode::None),
            partition_index: id.1.0,
            leader_id: leader.map_or(-1, |broker| broker.0),
            leader_epoch: described.leader_epoch().0,
            replica_nodes: described.replicas.iter().map(|broker| broker.0).collect(),
            isr_nodes: described.isr().iter().map(|member| member.broker.0).collect(),
            // Empty rather than null if there are none: Apache's admin client fails on null.
            eligible_leader_replicas: Some(eligible.map(|replica| replica.broker.0).collect()),
            last_known_elr: Some(Vec::new()),
            offline_replicas: offline.map(|broker| broker.0).collect(),
        }
    }
}

fn refused(name: &str, error_code: ErrorCode) -> Topic {
    let mut topic = Topic { error_code, name: Some(name.to_owned()), ..Topic::default() };
    // As in Kafka: operations are reported unless the client may not see the topic.
    if matches!(error_code, ErrorCode::UnknownTopicOrPartition | ErrorCode::InvalidTopicException) {
        topic.topic_authorized_operations = ALL_TOPIC_OPERATIONS;
    }
    topic
}

fn find<'a>(call: &Call<'_>, image: &'a Image, name: &str) -> Result<&'a TopicImage, ErrorCode> {
    if !call.session.may(Operation::Describe, Resource::Topic(name)) {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let name: TopicName = name.parse().map_err(|_| ErrorCode::InvalidTopicException)?;
    image.topic(&name).map(|topic| &**topic).ok_or(ErrorCode::UnknownTopicOrPartition)
}
