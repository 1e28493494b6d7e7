//! Creating, extending and deleting topics, and waiting until this broker serves the result.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::broker::context::Shared;
use crate::broker::errors::Refusal;
use crate::engine::{APPLIED_WITHIN, applied, check_configs, log_defaults};
use crate::metadata::NewTopic;
use crate::types::{BrokerId, InvalidTopicName, TopicName};
use crate::wire::ErrorCode;

/// An extension of a topic.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    /// The topic.
    pub(crate) topic: TopicName,
    /// The total number of partitions, including existing ones.
    pub(crate) total: i32,
    /// The replicas of each new partition; empty to have them assigned.
    pub(crate) assignment: Vec<Vec<BrokerId>>,
}

/// Checks whether a topic can be created, and returns the replicas of its partitions.
pub(crate) fn check_topic(
    shared: &Shared,
    topic: &NewTopic,
) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let defaults = log_defaults(&shared.config.engine, &shared.engine.image());
    Ok(shared.engine.metadata.check_new_topic(topic, &check_configs(&defaults))?)
}

/// Checks whether a topic could be extended, and returns the replicas of the new partitions.
pub(crate) async fn check_growth(
    shared: &Arc<Shared>,
    growth: Growth,
) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let judge = Arc::clone(&shared.engine);
    let checked = shared.engine.control.run(async move {
        let Growth { topic, total, assignment } = &growth;
        judge.metadata.check_new_partitions(topic, *total, assignment).await
    });
    Ok(checked.await??)
}

/// Adds partitions to those that a request validates, if all of them together could be created.
pub(crate) fn plan_partitions(
    shared: &Shared,
    planned: &mut Vec<Vec<BrokerId>>,
    replicas: Vec<Vec<BrokerId>>,
) -> Result<(), Refusal> {
    let before = planned.len();
    planned.extend(replicas);
    let checked = shared.engine.metadata.check_capacity(planned);
    Ok(checked.inspect_err(|_| planned.truncate(before))?)
}

/// Extends a topic; its new partitions are usable on return.
pub(crate) async fn create_partitions(
    shared: &Arc<Shared>,
    growth: Growth,
    within: Duration,
) -> Result<(), Refusal> {
    shared.engine.logs.data.require_room().map_err(|error| Refusal::from(&error))?;
    let maker = Arc::clone(&shared.engine);
    let name = growth.topic.clone();
    let made = shared.engine.control.run(async move {
        let Growth { topic, total, assignment } = &growth;
        maker.metadata.create_partitions(topic, *total, assignment).await
    });
    made.await??;
    let id = shared.engine.image().topic(&name).map(|topic| topic.id);
    Ok(applied(&shared.engine, id.as_slice(), within).await?)
}

/// The names that occur more than once in a request, so that the intended result is not clear.
pub(crate) fn repeated<K: Clone + Eq + Hash>(names: impl Iterator<Item = K>) -> HashSet<K> {
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for name in names {
        if !seen.insert(name.clone()) {
            repeated.insert(name);
        }
    }
    repeated
}

/// The refusal of a name that occurs more than once in a request.
pub(crate) fn named_twice() -> Refusal {
    Refusal::because(ErrorCode::InvalidRequest, &"it is named more than once in the request")
}

/// Parses the name of a topic that users may change.
pub(crate) fn name_of(text: &str) -> Result<TopicName, Refusal> {
    let invalid =
        |cause: &dyn fmt::Display| Refusal::because(ErrorCode::InvalidTopicException, cause);
    let name: TopicName = text.parse().map_err(|error: InvalidTopicName| invalid(&error))?;
    if name.is_internal() {
        return Err(invalid(&format!("'{name}' is the broker's own")));
    }
    Ok(name)
}

/// The time that a response may wait for a change to be applied, based on the request's timeout.
/// Without a minimum, clients that pass 0 would get an error although the change takes
/// milliseconds.
pub(crate) fn wait_limit(timeout_ms: i32) -> Duration {
    let asked = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
    asked.clamp(Duration::from_secs(1), APPLIED_WITHIN)
}
