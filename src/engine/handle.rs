//! Access to an engine from within its own process.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::engine::{APPLIED_WITHIN, EngineError, EngineState, create_topic, delete_topic};
use crate::io::Clock;
use crate::metadata::NewTopic;
use crate::replication::Topic;
use crate::types::{TopicId, TopicName};

/// A handle to a running engine. Clones are handles to the same engine.
#[derive(Clone)]
pub(crate) struct EngineHandle {
    engine: Arc<EngineState>,
}

impl EngineHandle {
    pub(super) fn new(engine: &Arc<EngineState>) -> Self {
        Self { engine: Arc::clone(engine) }
    }

    /// The clock of the engine.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.engine.clock
    }

    /// All topics, in no particular order.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.engine.partitions.topics()
    }

    /// The topic with this name.
    pub(crate) fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.engine.partitions.topic(name)
    }

    /// Blocks while so much is unflushed that the kernel might throttle writers.
    pub(crate) fn wait_for_budget(&self) {
        if self.engine.logs.flusher.is_over_budget() {
            self.engine.logs.flusher.wait_for_budget();
        }
    }

    /// The token that is cancelled when the engine stops, on request or because its disk failed.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.engine.stopping
    }

    /// The reason why the engine stopped by itself, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.engine.failure.reason()
    }

    /// Creates a topic. Its partitions are usable on return.
    ///
    /// # Errors
    /// If the topic is not valid or already exists, the disk is full, or the engine is stopping.
    /// `NotApplied` if the topic was created, but is not usable in time.
    pub(crate) async fn create_topic(&self, topic: NewTopic) -> Result<TopicId, EngineError> {
        self.check_running()?;
        let engine = Arc::clone(&self.engine);
        let created = async move { create_topic(&engine, topic, APPLIED_WITHIN).await };
        self.engine.control.run(created).await?
    }

    /// Deletes a topic. It can no longer be used on return; its files are removed a little later.
    ///
    /// # Errors
    /// If the topic no longer exists, or the engine is stopping. `NotApplied` if the topic was
    /// deleted, but could still be used when the time was over.
    pub(crate) async fn delete_topic(
        &self,
        name: &TopicName,
        id: TopicId,
    ) -> Result<(), EngineError> {
        self.check_running()?;
        let (engine, name) = (Arc::clone(&self.engine), name.clone());
        let deleted = async move { delete_topic(&engine, &name, id, APPLIED_WITHIN).await };
        self.engine.control.run(deleted).await?
    }

    fn check_running(&self) -> Result<(), EngineError> {
        if self.engine.stopping.is_cancelled() { Err(EngineError::Stopping) } else { Ok(()) }
    }
}
