//! Creation and deletion of topics, and waiting until this broker's partitions reflect them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::matching::require_no_logs;
use crate::engine::topic_settings::{OFFSET_UNIT, check_configs};
use crate::engine::topology::is_applied;
use crate::engine::{EngineError, EngineState, Unavailable, log_defaults};
use crate::metadata::{Image, NewTopic, TopicState};
use crate::storage::OffsetUnit;
use crate::types::{BrokerId, TopicId, TopicName};

/// The maximum time until a change reaches the partitions of this broker.
pub(crate) const APPLIED_WITHIN: Duration = Duration::from_secs(10);

/// Creates a topic. Its partitions are usable on return.
///
/// # Errors
/// If the topic is not valid or already exists, the disk is full, or the engine is stopping.
/// `NotApplied` if the topic was created, but is not usable within `within`.
pub(crate) async fn create_topic(
    engine: &Arc<EngineState>,
    topic: NewTopic,
    within: Duration,
) -> Result<TopicId, EngineError> {
    // Create an internal topic even on a full disk: groups cannot work without it.
    if !topic.name.is_internal() {
        engine.logs.data.require_room()?;
    }
    require_no_logs(&engine.logs.data, &engine.image(), &topic.name)?;
    let topic = with_fixed_settings(engine, topic);
    let (name, creator) = (topic.name.clone(), Arc::clone(engine));
    let created = engine.control.run(async move {
        let defaults = log_defaults(&creator.config, &creator.image());
        creator.metadata.create_topic(&topic, &check_configs(&defaults)).await
    });
    let id = created.await??;
    tracing::info!("topic {name} created");
    led(engine, &[id], within).await?;
    Ok(id)
}

/// Checks whether a topic could be created, and returns the replicas that it would have.
///
/// # Errors
/// If the topic is not valid or already exists.
pub(crate) fn check_new_topic(
    engine: &EngineState,
    topic: &NewTopic,
) -> Result<Vec<Vec<BrokerId>>, EngineError> {
    let image = engine.image();
    require_no_logs(&engine.logs.data, &image, &topic.name)?;
    let defaults = log_defaults(&engine.config, &image);
    Ok(engine.metadata.check_new_topic(topic, &check_configs(&defaults))?)
}

/// Stores the settings that cannot change after creation explicitly, so that a later change of the
/// broker's defaults does not affect the topic.
pub(crate) fn with_fixed_settings(engine: &EngineState, mut topic: NewTopic) -> NewTopic {
    let unit = engine.config.log.offset_unit;
    if unit != OffsetUnit::Record {
        topic.configs.entry(OFFSET_UNIT.to_owned()).or_insert_with(|| unit.to_string());
    }
    topic
}

/// Deletes a topic. It can no longer be used on return; its files are removed a little later.
///
/// # Errors
/// If the topic no longer exists, or the engine is stopping. `NotApplied` if the topic was deleted,
/// but can still be used after `within`.
pub(crate) async fn delete_topic(
    engine: &Arc<EngineState>,
    name: &TopicName,
    id: TopicId,
    within: Duration,
) -> Result<(), EngineError> {
    let deleting = Arc::clone(engine);
    let deleted = engine.control.run(async move { deleting.metadata.delete_topic(id).await });
    deleted.await??;
    tracing::info!("topic {name} deleted");
    if engine.image().has_single_broker() {
        // No other broker has to see the deletion. `caught_up` would also wait until the topic's
        // nodes are gone from the metadata, which a full disk can delay.
        return applied(engine, &[id], within).await;
    }
    // In this image the state of the topic is "deleted".
    let state = TopicState::of(&engine.image(), id);
    caught_up(engine, &[state], within).await
}

/// Waits until this broker's partitions of the topics match the metadata.
///
/// # Errors
/// `NotApplied` if that takes longer than `within`.
pub(crate) async fn applied(
    engine: &EngineState,
    topics: &[TopicId],
    within: Duration,
) -> Result<(), EngineError> {
    until(engine, within, || topics.iter().all(|id| is_applied(engine, *id))).await
}

/// Waits like [`applied`], and until each partition of the topics has a leader, unless all of its
/// replicas are on brokers that are down. A single broker does not wait for its own elections: on a
/// full disk they happen only once there is space, and the topics exist already.
///
/// # Errors
/// `NotApplied` if that takes longer than `within`.
pub(crate) async fn led(
    engine: &EngineState,
    topics: &[TopicId],
    within: Duration,
) -> Result<(), EngineError> {
    let is_led = |id| {
        let image = engine.image();
        (image.has_single_broker() || is_led(&image, id)) && is_applied(engine, id)
    };
    until(engine, within, || topics.iter().all(|id| is_led(*id))).await
}

/// Waits until this broker serves topics in these states, or in later ones.
///
/// # Errors
/// `NotApplied` if that takes longer than `within`.
pub(crate) async fn caught_up(
    engine: &EngineState,
    states: &[TopicState],
    within: Duration,
) -> Result<(), EngineError> {
    let is_reached =
        |state: &TopicState| state.is_known_to(&engine.image()) && is_applied(engine, state.id);
    until(engine, within, || states.iter().all(is_reached)).await
}

/// Waits until `is_reached` returns true after an image was applied, but no longer than `within`.
async fn until(
    engine: &EngineState,
    within: Duration,
    is_reached: impl Fn() -> bool,
) -> Result<(), EngineError> {
    let mut applied = engine.applied.subscribe();
    let reached = async {
        while !is_reached() {
            if applied.changed().await.is_err() {
                return;
            }
        }
    };
    timeout(within, reached).await.map_err(|_| EngineError::NotApplied)
}

/// Returns true if every partition of a topic that can have a leader has one.
fn is_led(image: &Image, id: TopicId) -> bool {
    let Some(topic) = image.topic_by_id(id) else { return true };
    topic.partitions.iter().all(|partition| {
        let mut replicas = partition.replicas.iter();
        partition.leader().is_some() || replicas.all(|id| image.broker(*id).is_none())
    })
}

impl From<Unavailable> for EngineError {
    fn from(_: Unavailable) -> Self {
        Self::Stopping
    }
}
