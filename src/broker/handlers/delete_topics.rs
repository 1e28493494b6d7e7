//! `DeleteTopics`: by name, or by id if the name may meanwhile belong to another topic.

use std::collections::HashSet;
use std::time::Duration;

use crate::broker::access::Topics;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::topics::{name_of, named_twice, repeated, wait_limit};
use crate::types::{TopicId, TopicName};
use crate::wire::ErrorCode;
use crate::wire::delete_topics::{DeleteTopicsRequest, DeleteTopicsResponse, RequestTopic, Topic};

pub(crate) type Request = DeleteTopicsRequest;

/// Deletes the topics in turn; each succeeds or fails independently.
pub(crate) async fn handle(
    call: &Call<'_>,
    topics: &Topics<'_>,
    request: Request,
) -> DeleteTopicsResponse {
    let named = |name| RequestTopic { name: Some(name), topic_id: TopicId::NONE };
    let mut all = request.topics;
    all.extend(request.topic_names.into_iter().map(named));
    let key = |topic: &RequestTopic| (topic.name.clone(), topic.topic_id);
    let repeated = repeated(all.iter().map(key));
    let within = wait_limit(request.timeout_ms);
    let mut responses = Vec::with_capacity(all.len());
    let mut seen = HashSet::new();
    all.retain(|wanted| seen.insert(key(wanted)));
    for wanted in all {
        let deleted = if repeated.contains(&key(&wanted)) {
            Err(named_twice())
        } else {
            delete(call, topics, &wanted, within).await
        };
        responses.push(match deleted {
            Ok((name, topic_id)) => {
                Topic { name: Some(name.to_string()), topic_id, ..Topic::default() }
            }
            Err(refusal) => Topic {
                name: wanted.name,
                topic_id: wanted.topic_id,
                error_code: refusal.code,
                error_message: refusal.message,
            },
        });
    }
    DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() }
}

async fn delete(
    call: &Call<'_>,
    topics: &Topics<'_>,
    wanted: &RequestTopic,
    within: Duration,
) -> Result<(TopicName, TopicId), Refusal> {
    let image = topics.image();
    let (found, unknown) = match (&wanted.name, wanted.topic_id) {
        (Some(name), TopicId::NONE) => {
            // An invalid name cannot belong to a topic.
            let legal = name.parse::<TopicName>().is_ok().then(|| name_of(name)).transpose()?;
            let found = legal.and_then(|name| image.topic(&name));
            (found, ErrorCode::UnknownTopicOrPartition)
        }
        (None, TopicId::NONE) => {
            let cause = "a topic has neither a name nor an id";
            return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
        }
        (None, id) => (image.topic_by_id(id), ErrorCode::UnknownTopicId),
        (Some(_), _) => {
            let cause = "a topic has both a name and an id: send one of them";
            return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
        }
    };
    let name = found.map(|topic| topic.name.as_str()).or(wanted.name.as_deref());
    if !call.session.may(Operation::Delete, Resource::Topic(name.unwrap_or_default())) {
        return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
    }
    let topic = found.ok_or_else(|| Refusal::of(unknown))?;
    let name = name_of(topic.name.as_str())?;
    topics.delete(&name, topic.id, within).await?;
    Ok((name, topic.id))
}
