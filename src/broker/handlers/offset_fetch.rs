//! `OffsetFetch`: the committed offsets of groups.
//!
//! A partition without a committed offset is answered with −1 and no error, even if it does not
//! exist; only an unknown topic id is an error. A committed offset may itself be negative;
//! consumers treat it as no offset.

use crate::broker::access::Cluster;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::coordinator::{Groups, is_topic_deleted};
use crate::broker::errors::Coded;
use crate::group::{CommittedOffset, FetchOffsetsRequest, GroupId};
use crate::types::{PartitionIndex, TopicName, TopicPartition};
use crate::wire::ErrorCode;
use crate::wire::offset_fetch::{
    Group, OffsetFetchRequest, OffsetFetchResponse, Partition, RequestGroup, RequestTopic, Topic,
};

pub(crate) type Request = OffsetFetchRequest;

/// The first version that identifies topics by id.
const BY_ID_SINCE: i16 = 10;
/// The last version with a single group.
const LAST_SINGLE: i16 = 7;
/// The last version that reports an error of the group with each partition.
const LAST_WITHOUT_GROUP_ERROR: i16 = 1;

/// Looks up the offsets.
pub(crate) async fn handle(
    call: &Call<'_>,
    cluster: &Cluster<'_>,
    groups: &Groups<'_>,
    request: Request,
) -> OffsetFetchResponse {
    let lookup = Lookup { call, cluster, groups };
    if call.version > LAST_SINGLE {
        let mut found = Vec::with_capacity(request.groups.len());
        for wanted in request.groups {
            found.push(lookup.group(wanted).await);
        }
        return OffsetFetchResponse { groups: found, ..OffsetFetchResponse::default() };
    }
    let topics = request.topics;
    let wanted = RequestGroup { group_id: request.group_id, topics, ..RequestGroup::default() };
    let asked = wanted.topics.clone().unwrap_or_default();
    let group = lookup.group(wanted).await;
    let (topics, error_code) =
        if call.version <= LAST_WITHOUT_GROUP_ERROR && group.error_code.is_error() {
            (refuse_all(asked, group.error_code), ErrorCode::None)
        } else {
            (group.topics, group.error_code)
        };
    OffsetFetchResponse { topics, error_code, ..OffsetFetchResponse::default() }
}

/// The lookup of committed offsets for one request.
struct Lookup<'a> {
    call: &'a Call<'a>,
    cluster: &'a Cluster<'a>,
    groups: &'a Groups<'a>,
}

impl Lookup<'_> {
    async fn group(&self, wanted: RequestGroup) -> Group {
        let group_id = wanted.group_id;
        let found = if self.call.session.may(Operation::Describe, Resource::Group(&group_id)) {
            self.offsets(&group_id, wanted.topics).await
        } else {
            Err(ErrorCode::GroupAuthorizationFailed)
        };
        match found {
            Ok(topics) => Group { group_id, topics, error_code: ErrorCode::None },
            Err(error_code) => Group { group_id, topics: Vec::new(), error_code },
        }
    }

    async fn offsets(
        &self,
        group: &str,
        topics: Option<Vec<RequestTopic>>,
    ) -> Result<Vec<Topic>, ErrorCode> {
        let group_id = GroupId::from(group);
        let topics = topics.map(|topics| self.identified(topics));
        let partitions = topics.as_ref().map(|topics| named(self.call, topics));
        let question = FetchOffsetsRequest { group_id: group_id.clone(), partitions };
        let mut found =
            self.groups.ask(&group_id, question).await.map_err(|error| error.error_code())?;
        // Offsets of a deleted topic are hidden even before the coordinator has deleted them: a
        // consumer must not apply them to a new topic of that name.
        let image = self.cluster.image();
        for (partition, offset) in &mut found {
            offset.take_if(|offset| is_topic_deleted(&image, &partition.topic, offset.topic_id));
        }
        match topics {
            Some(topics) => Ok(as_asked(self.call, topics, found)),
            None => Ok(by_topic(self.call, found)),
        }
    }

    /// The requested topics, with names even if the request has only ids. A topic with an unknown
    /// id has an empty name.
    fn identified(&self, mut topics: Vec<RequestTopic>) -> Vec<RequestTopic> {
        if self.call.version >= BY_ID_SINCE {
            let image = self.cluster.image();
            for topic in &mut topics {
                let found = image.topic_by_id(topic.topic_id);
                topic.name = found.map(|found| found.name.to_string()).unwrap_or_default();
            }
        }
        topics
    }
}

/// The requested partitions with valid names that this client may see.
fn named(call: &Call<'_>, topics: &[RequestTopic]) -> Vec<TopicPartition> {
    let mut partitions = Vec::new();
    for topic in topics.iter().filter(|topic| may_see(call, &topic.name)) {
        let Ok(name) = topic.name.parse::<TopicName>() else { continue };
        let of_topic = topic
            .partition_indexes
            .iter()
            .map(|index| TopicPartition { topic: name.clone(), partition: PartitionIndex(*index) });
        partitions.extend(of_topic);
    }
    partitions
}

/// The response in the form of the request; `found` is in the order of [`named`].
fn as_asked(
    call: &Call<'_>,
    topics: Vec<RequestTopic>,
    found: Vec<(TopicPartition, Option<CommittedOffset>)>,
) -> Vec<Topic> {
    let mut found = found.into_iter();
    let mut answers = Vec::with_capacity(topics.len());
    for topic in topics {
        let visible = may_see(call, &topic.name);
        let possible = topic.name.parse::<TopicName>().is_ok();
        let indexes = topic.partition_indexes.into_iter();
        let unknown =
            if call.version >= BY_ID_SINCE { ErrorCode::UnknownTopicId } else { ErrorCode::None };
        let answer = indexes.map(|index| match (visible, possible) {
            (false, _) => nothing(index, ErrorCode::TopicAuthorizationFailed),
            (true, false) => nothing(index, unknown),
            (true, true) => {
                let offset = found.next().and_then(|(_, offset)| offset);
                offset.map_or_else(|| nothing(index, ErrorCode::None), |o| stored(index, &o))
            }
        });
        let partitions = answer.collect();
        answers.push(Topic { partitions, name: topic.name, topic_id: topic.topic_id });
    }
    answers
}

/// All offsets found that this client may see, by topic.
fn by_topic(call: &Call<'_>, found: Vec<(TopicPartition, Option<CommittedOffset>)>) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    for (id, offset) in found {
        let name = id.topic.as_str();
        let Some(offset) = offset.filter(|_| may_see(call, name)) else { continue };
        let partition = stored(id.partition.0, &offset);
        if let Some(topic) = topics.last_mut().filter(|topic| topic.name == name) {
            topic.partitions.push(partition);
        } else {
            let (name, topic_id) = (name.to_owned(), offset.topic_id);
            topics.push(Topic { name, topic_id, partitions: vec![partition] });
        }
    }
    topics
}

fn may_see(call: &Call<'_>, topic: &str) -> bool {
    call.session.may(Operation::Describe, Resource::Topic(topic))
}

fn stored(index: i32, offset: &CommittedOffset) -> Partition {
    Partition {
        partition_index: index,
        committed_offset: offset.offset,
        committed_leader_epoch: offset.leader_epoch.0,
        metadata: Some(offset.metadata.to_string()),
        error_code: ErrorCode::None,
    }
}

fn nothing(index: i32, error_code: ErrorCode) -> Partition {
    Partition {
        partition_index: index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code,
    }
}

fn refuse_all(topics: Vec<RequestTopic>, code: ErrorCode) -> Vec<Topic> {
    let refuse = |topic: RequestTopic| Topic {
        partitions: topic.partition_indexes.into_iter().map(|index| nothing(index, code)).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    };
    topics.into_iter().map(refuse).collect()
}
