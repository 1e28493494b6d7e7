//! Creation and deletion of topics, and waiting until this broker's partitions reflect them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::topic_settings::{OFFSET_UNIT, check_configs};
use crate::engine::topology::is_applied;
use crate::engine::{EngineError, EngineState, Unavailable, log_defaults};
use crate::metadata::NewTopic;
use crate::storage::OffsetUnit;
use crate::types::{TopicId, TopicName};

/// The maximum time until a change reaches the partitions of this broker.
pub(crate) const APPLIED_WITHIN: Duration = Duration::from_secs(10);

/// Creates a topic. Its partitions are usable on return.
///
/// # Errors
/// If the topic is not valid or already exists, the disk is full, or the engine is stopping.
pub(crate) async fn create_topic(
    engine: &Arc<EngineState>,
    topic: NewTopic,
    within: Duration,
) -> Result<TopicId, EngineError> {
    // Groups need the internal topics to keep working, even on a full disk.
    if !topic.name.is_internal() {
        engine.logs.data.require_room()?;
    }
    let topic = with_fixed_settings(engine, topic);
    let (name, creator) = (topic.name.clone(), Arc::clone(engine));
    let created = engine.control.run(async move {
        let defaults = log_defaults(&creator.config, &creator.image());
        creator.metadata.create_topic(&topic, &check_configs(&defaults)).await
    });
    let id = created.await??;
    tracing::info!("topic {name} created");
    applied(engine, &[id], within).await?;
    Ok(id)
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
/// If the topic no longer exists, or the engine is stopping.
pub(crate) async fn delete_topic(
    engine: &Arc<EngineState>,
    (name, id): (&TopicName, TopicId),
    within: Duration,
) -> Result<(), EngineError> {
    let deleting = Arc::clone(engine);
    let deleted = engine.control.run(async move { deleting.metadata.delete_topic(id).await });
    deleted.await??;
    tracing::info!("topic {name} deleted");
    applied(engine, &[id], within).await
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
    let mut applied = engine.applied.subscribe();
    let reached = async {
        while !topics.iter().all(|id| is_applied(engine, *id)) {
            if applied.changed().await.is_err() {
                return;
            }
        }
    };
    timeout(within, reached).await.map_err(|_| EngineError::NotApplied)
}

impl From<Unavailable> for EngineError {
    fn from(_: Unavailable) -> Self {
        Self::Stopping
    }
}
