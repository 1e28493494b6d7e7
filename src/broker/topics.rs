//! Making, extending and removing topics, and waiting until this broker serves what it was made to.

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

/// How many partitions a topic shall have.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    /// The topic.
    pub(crate) topic: TopicName,
    /// All of them, the present ones included.
    pub(crate) total: i32,
    /// The replicas of each new one; empty to have them chosen.
    pub(crate) assignment: Vec<Vec<BrokerId>>,
}

/// The replicas that each partition of a topic would have, if it can be made.
pub(crate) fn check_topic(
    shared: &Shared,
    topic: &NewTopic,
) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let defaults = log_defaults(&shared.config.engine, &shared.engine.image());
    Ok(shared.engine.metadata.check_new_topic(topic, &check_configs(&defaults))?)
}

/// Whether a topic could be extended so, and the replicas that the new partitions would have.
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

/// Adds partitions with these replicas to those that a request asks about before it creates any,
/// if all of them could be created.
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

/// Extends a topic; on return its new partitions can be used.
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

/// The names that stand more than once in a request; what is meant by them nobody can tell.
pub(crate) fn repeated<K: Clone + Eq + Hash>(names: impl Iterator<Item = K>) -> HashSet<K> {
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for name in names {
        if !seen.insert(name.clone()) {
            repeated.insert(name);
        }
    }
    repeated
}

/// The refusal of a name that stands more than once in a request.
pub(crate) fn named_twice() -> Refusal {
    Refusal::because(ErrorCode::InvalidRequest, &"it is named more than once in the request")
}

/// The name of a topic that people may change.
pub(crate) fn name_of(text: &str) -> Result<TopicName, Refusal> {
    let invalid =
        |cause: &dyn fmt::Display| Refusal::because(ErrorCode::InvalidTopicException, cause);
    let name: TopicName = text.parse().map_err(|error: InvalidTopicName| invalid(&error))?;
    if name.is_internal() {
        return Err(invalid(&format!("'{name}' is the broker's own")));
    }
    Ok(name)
}

/// How long an answer may wait for a change to be applied, of the time that the request allows.
/// Clients that allow none would be told of a failure although it is a matter of milliseconds.
pub(crate) fn patience(timeout_ms: i32) -> Duration {
    let asked = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
    asked.clamp(Duration::from_secs(1), APPLIED_WITHIN)
}
