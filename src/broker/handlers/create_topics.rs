//! `CreateTopics`: creates topics, with defaults for everything that a request leaves open.

use std::collections::HashSet;
use std::time::Duration;

use crate::broker::access::Topics;
use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::broker::handlers::describe_configs::source_code;
use crate::broker::settings::{Setting, Settings};
use crate::broker::topics::{name_of, named_twice, repeated, wait_limit};
use crate::metadata::{Configs, NewTopic};
use crate::types::BrokerId;
use crate::wire::ErrorCode;
use crate::wire::create_topics::{
    Assignment, Config, CreateTopicsRequest, CreateTopicsResponse, RequestConfig, RequestTopic,
    Topic,
};

pub(crate) type Request = CreateTopicsRequest;

/// The number of partitions or replicas in a request that asks for the default, or for the numbers
/// that follow from its assignment.
const UNSET: i32 = -1;

/// Creates the topics in turn; each succeeds or fails independently.
pub(crate) async fn handle(
    call: &Call<'_>,
    settings: &Settings<'_>,
    topics: &Topics<'_>,
    request: Request,
) -> CreateTopicsResponse {
    let repeated = repeated(request.topics.iter().map(|topic| topic.name.clone()));
    let within = (!request.validate_only).then(|| wait_limit(request.timeout_ms));
    let creation = Creation { call, settings, topics, within };
    let mut planned = Vec::new();
    let mut answers = Vec::with_capacity(request.topics.len());
    let mut seen = HashSet::new();
    for wanted in request.topics.iter().filter(|topic| seen.insert(&topic.name)) {
        let made = if repeated.contains(&wanted.name) {
            Err(named_twice())
        } else {
            creation.create(wanted, &mut planned).await
        };
        answers.push(made.unwrap_or_else(|refusal| Topic {
            name: wanted.name.clone(),
            error_code: refusal.code,
            error_message: refusal.message,
            configs: Some(Vec::new()),
            ..Topic::default()
        }));
    }
    CreateTopicsResponse { topics: answers, ..CreateTopicsResponse::default() }
}

/// The creation of the topics of one request.
struct Creation<'a> {
    call: &'a Call<'a>,
    settings: &'a Settings<'a>,
    topics: &'a Topics<'a>,
    /// The time within which a topic must be usable; `None` if topics are only validated.
    within: Option<Duration>,
}

impl Creation<'_> {
    /// Creates one topic, or validates it together with the partitions in `planned`.
    async fn create(
        &self,
        wanted: &RequestTopic,
        planned: &mut Vec<Vec<BrokerId>>,
    ) -> Result<Topic, Refusal> {
        if !self.call.session.may(Operation::Create, Resource::Topic(&wanted.name)) {
            return Err(Refusal::of(ErrorCode::TopicAuthorizationFailed));
        }
        let new = self.topics.with_fixed_settings(new_topic(wanted)?);
        let replicas = self.topics.check(&new)?;
        let (count, factor) = (replicas.len(), replicas.first().map_or(0, Vec::len));
        let own = new.configs.clone();
        // As in Kafka, a topic that is only validated has an id too, since tools expect one.
        let topic_id = new.id;
        if let Some(within) = self.within {
            self.topics.create(new, within).await?;
        } else {
            self.topics.plan(planned, replicas)?;
        }
        let settings = self.settings.of_topic(&self.topics.image(), &own, factor);
        Ok(Topic {
            name: wanted.name.clone(),
            topic_id,
            num_partitions: i32::try_from(count).unwrap_or(i32::MAX),
            replication_factor: i16::try_from(factor).unwrap_or(i16::MAX),
            configs: Some(settings.iter().map(config).collect()),
            ..Topic::default()
        })
    }
}

fn new_topic(wanted: &RequestTopic) -> Result<NewTopic, Refusal> {
    let assigned = !wanted.assignments.is_empty();
    let (partitions, factor) = (wanted.num_partitions, wanted.replication_factor);
    if assigned && (partitions != UNSET || i32::from(factor) != UNSET) {
        let cause = "with an assignment, partitions and replication factor are -1";
        return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
    }
    Ok(NewTopic {
        partitions,
        replication_factor: factor,
        assignment: assignment(&wanted.assignments)?,
        configs: configs(&wanted.configs)?,
        ..NewTopic::named(name_of(&wanted.name)?)
    })
}

/// The replicas of each partition, which may be listed in any order.
fn assignment(wanted: &[Assignment]) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let mut sorted: Vec<&Assignment> = wanted.iter().collect();
    sorted.sort_by_key(|assignment| assignment.partition_index);
    if sorted.iter().zip(0..).any(|(assignment, index)| assignment.partition_index != index) {
        let cause = "the partitions of an assignment are numbered from 0, each once";
        return Err(Refusal::because(ErrorCode::InvalidReplicaAssignment, &cause));
    }
    let replicas =
        |assignment: &Assignment| assignment.broker_ids.iter().copied().map(BrokerId).collect();
    Ok(sorted.into_iter().map(replicas).collect())
}

fn configs(wanted: &[RequestConfig]) -> Result<Configs, Refusal> {
    let value = |config: &RequestConfig| {
        let missing = || {
            let cause = format!("{}: the setting has no value", config.name);
            Refusal::because(ErrorCode::InvalidConfig, &cause)
        };
        let value = config.value.clone().ok_or_else(missing)?;
        Ok((config.name.clone(), value))
    };
    wanted.iter().map(value).collect()
}

fn config(setting: &Setting) -> Config {
    let in_force = setting.in_force();
    Config {
        name: setting.name.to_owned(),
        value: in_force.text.clone(),
        read_only: setting.is_fixed,
        config_source: source_code(in_force.source),
        is_sensitive: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(indexes: &[i32]) -> Vec<Assignment> {
        let one = |index: &i32| Assignment { partition_index: *index, broker_ids: vec![*index] };
        indexes.iter().map(one).collect()
    }

    #[test]
    fn an_assignment_names_each_partition_once_in_any_order() {
        let sorted = assignment(&assigned(&[2, 0, 1])).unwrap();
        assert_eq!(sorted, [0, 1, 2].map(|id| vec![BrokerId(id)]));
        for wrong in [&[1][..], &[0, 2], &[0, 0], &[-1, 0]] {
            let refusal = assignment(&assigned(wrong)).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidReplicaAssignment, "{wrong:?}");
        }
    }

    #[test]
    fn an_assignment_excludes_partition_count_and_replication_factor() {
        let topic = |num_partitions, replication_factor| RequestTopic {
            name: "t".to_owned(),
            num_partitions,
            replication_factor,
            assignments: assigned(&[0]),
            ..RequestTopic::default()
        };
        assert!(new_topic(&topic(-1, -1)).is_ok());
        for (partitions, factor) in [(1, -1), (-1, 1)] {
            let refusal = new_topic(&topic(partitions, factor)).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidRequest);
        }
    }
}
