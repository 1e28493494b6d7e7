//! Making, extending and removing topics, and waiting until this broker serves what it was made to.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::broker::context::Shared;
use crate::broker::control::Unavailable;
use crate::broker::errors::Refusal;
use crate::broker::settings::{OFFSET_UNIT, log_defaults};
use crate::broker::topic_settings::check_configs;
use crate::broker::topology::is_applied;
use crate::metadata::NewTopic;
use crate::storage::OffsetUnit;
use crate::types::{BrokerId, InvalidTopicName, TopicId, TopicName};
use crate::wire::ErrorCode;

/// How long a change may take to reach the partitions of this broker.
pub(crate) const APPLIED_WITHIN: Duration = Duration::from_secs(10);

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
    let defaults = log_defaults(&shared.config, &shared.image());
    Ok(shared.metadata.check_new_topic(topic, &check_configs(&defaults))?)
}

/// A topic that says for itself what cannot change once it is made, so that no default of brokers
/// that becomes another one later has a part in it.
pub(crate) fn settled(shared: &Shared, mut topic: NewTopic) -> NewTopic {
    let unit = shared.config.log.offset_unit;
    if unit != OffsetUnit::Record {
        topic.configs.entry(OFFSET_UNIT.to_owned()).or_insert_with(|| unit.to_string());
    }
    topic
}

/// Makes a topic; on return its partitions can be used.
pub(crate) async fn create_topic(
    shared: &Arc<Shared>,
    topic: NewTopic,
    within: Duration,
) -> Result<TopicId, Refusal> {
    // The internal topics are the brokers' own, and groups need them to go on.
    if !topic.name.is_internal() {
        shared.logs.data.require_room().map_err(|error| Refusal::from(&error))?;
    }
    let maker = Arc::clone(shared);
    let topic = settled(shared, topic);
    let name = topic.name.clone();
    let made = shared.control.run(async move {
        let defaults = log_defaults(&maker.config, &maker.image());
        maker.metadata.create_topic(&topic, &check_configs(&defaults)).await
    });
    let id = made.await.map_err(stopping)??;
    tracing::info!("topic {name} made");
    applied(shared, &[id], within).await?;
    Ok(id)
}

/// Removes a topic; on return nobody can use it any more. Its data goes a little later.
pub(crate) async fn delete_topic(
    shared: &Arc<Shared>,
    (name, id): (&TopicName, TopicId),
    within: Duration,
) -> Result<(), Refusal> {
    let broker = Arc::clone(shared);
    let removed = shared.control.run(async move { broker.metadata.delete_topic(id).await });
    removed.await.map_err(stopping)??;
    tracing::info!("topic {name} deleted");
    applied(shared, &[id], within).await
}

/// Whether a topic could be extended so, and the replicas that the new partitions would have.
pub(crate) async fn check_growth(
    shared: &Arc<Shared>,
    growth: Growth,
) -> Result<Vec<Vec<BrokerId>>, Refusal> {
    let judge = Arc::clone(shared);
    let checked = shared.control.run(async move {
        let Growth { topic, total, assignment } = &growth;
        judge.metadata.check_new_partitions(topic, *total, assignment).await
    });
    Ok(checked.await.map_err(stopping)??)
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
    let checked = shared.metadata.check_capacity(planned);
    Ok(checked.inspect_err(|_| planned.truncate(before))?)
}

/// Extends a topic; on return its new partitions can be used.
pub(crate) async fn create_partitions(
    shared: &Arc<Shared>,
    growth: Growth,
    within: Duration,
) -> Result<(), Refusal> {
    shared.logs.data.require_room().map_err(|error| Refusal::from(&error))?;
    let maker = Arc::clone(shared);
    let name = growth.topic.clone();
    let made = shared.control.run(async move {
        let Growth { topic, total, assignment } = &growth;
        maker.metadata.create_partitions(topic, *total, assignment).await
    });
    made.await.map_err(stopping)??;
    let id = shared.image().topic(&name).map(|topic| topic.id);
    applied(shared, id.as_slice(), within).await
}

/// Waits until this broker's partitions of the topics are what the cluster says they are now.
pub(crate) async fn applied(
    shared: &Shared,
    topics: &[TopicId],
    within: Duration,
) -> Result<(), Refusal> {
    let mut applied = shared.applied.subscribe();
    let reached = async {
        while !topics.iter().all(|id| is_applied(shared, *id)) {
            if applied.changed().await.is_err() {
                return;
            }
        }
    };
    timeout(within, reached).await.map_err(|_| Refusal::of(ErrorCode::RequestTimedOut))
}

/// The broker stops while something is asked of it.
pub(crate) fn stopping(cause: Unavailable) -> Refusal {
    Refusal::because(ErrorCode::BrokerNotAvailable, &cause)
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
