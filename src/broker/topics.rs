//! Making and removing topics, and waiting until this broker serves what it was made to.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::broker::context::Shared;
use crate::broker::errors::Refusal;
use crate::broker::topic_settings::check_configs;
use crate::metadata::NewTopic;
use crate::types::{TopicId, TopicName};
use crate::wire::ErrorCode;

/// How long a change may take to reach the partitions of this broker.
const APPLIED_WITHIN: Duration = Duration::from_secs(10);

/// Makes a topic; on return its partitions can be used.
pub(crate) async fn create_topic(
    shared: &Arc<Shared>,
    topic: NewTopic,
) -> Result<TopicId, Refusal> {
    let maker = Arc::clone(shared);
    let name = topic.name.clone();
    let made = shared.control.run(async move {
        let check = check_configs(&maker.config.log);
        maker.metadata.create_topic(&topic, &check).await
    });
    let id = made.await.map_err(stopping)??;
    until(shared, || shared.partitions.topic_by_id(id).is_some()).await?;
    tracing::info!("topic {name} made");
    Ok(id)
}

/// Removes a topic; on return nobody can use it any more. Its data goes a little later.
pub(crate) async fn delete_topic(
    shared: &Arc<Shared>,
    name: &TopicName,
    id: TopicId,
) -> Result<(), Refusal> {
    let remover = Arc::clone(shared);
    let removed = shared.control.run(async move { remover.metadata.delete_topic(id).await });
    removed.await.map_err(stopping)??;
    until(shared, || shared.partitions.topic_by_id(id).is_none()).await?;
    tracing::info!("topic {name} deleted");
    Ok(())
}

/// Waits until an applied image makes `condition` true.
async fn until(shared: &Shared, condition: impl Fn() -> bool) -> Result<(), Refusal> {
    let mut applied = shared.applied.subscribe();
    let reached = async {
        while !condition() {
            if applied.changed().await.is_err() {
                return;
            }
        }
    };
    timeout(APPLIED_WITHIN, reached).await.map_err(|_| Refusal::of(ErrorCode::RequestTimedOut))
}

fn stopping(cause: crate::broker::control::Unavailable) -> Refusal {
    Refusal::because(ErrorCode::BrokerNotAvailable, &cause)
}
