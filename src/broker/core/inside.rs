//! The way in for callers in this process: what requests do, without a request.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::broker::BrokerError;
use crate::broker::context::Shared;
use crate::broker::settings::log_defaults;
use crate::broker::topic_settings::check_configs;
use crate::broker::topics::{APPLIED_WITHIN, applied};
use crate::io::Clock;
use crate::metadata::NewTopic;
use crate::replication::Topic;
use crate::types::TopicId;

/// A running engine as its process reaches it. Clones reach the same one.
#[derive(Clone)]
pub(crate) struct Inside {
    shared: Arc<Shared>,
}

impl Inside {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// The clock that everything goes by.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    /// All topics, in no order.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.shared.partitions.topics()
    }

    /// The topic of this name.
    pub(crate) fn topic(&self, name: &str) -> Option<Arc<Topic>> {
        self.shared.partitions.topic(name)
    }

    /// Waits while so much is unflushed that the kernel might throttle writers.
    pub(crate) fn wait_for_room(&self) {
        if self.shared.logs.flusher.is_over_budget() {
            self.shared.logs.flusher.wait_for_room();
        }
    }

    /// Cancelled when the engine stops, whether it was told to or its disk failed.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.shared.stopping
    }

    /// Why it stopped by itself, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.failure.reason()
    }

    /// Makes a topic; on return its partitions can be used.
    ///
    /// # Errors
    /// What is wrong with the topic, or that the engine stops.
    pub(crate) async fn create_topic(&self, topic: NewTopic) -> Result<TopicId, BrokerError> {
        let shared = Arc::clone(&self.shared);
        let made = self.run(async move {
            let defaults = log_defaults(&shared.config, &shared.image());
            shared.metadata.create_topic(&topic, &check_configs(&defaults)).await
        });
        let id = made.await??;
        self.applied(id).await?;
        Ok(id)
    }

    /// Removes a topic; on return nobody can use it any more. Its files go a little later.
    ///
    /// # Errors
    /// That it is gone already, or that the engine stops.
    pub(crate) async fn delete_topic(&self, id: TopicId) -> Result<(), BrokerError> {
        let shared = Arc::clone(&self.shared);
        self.run(async move { shared.metadata.delete_topic(id).await }).await??;
        self.applied(id).await
    }

    /// Runs work on the control thread, unless the engine stops.
    async fn run<F>(&self, work: F) -> Result<F::Output, BrokerError>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        if self.shared.stopping.is_cancelled() {
            return Err(BrokerError::Stopping);
        }
        self.shared.control.run(work).await.map_err(|_| BrokerError::Stopping)
    }

    /// Waits until what was made of a topic is what the partitions here are.
    async fn applied(&self, id: TopicId) -> Result<(), BrokerError> {
        let shared = Arc::clone(&self.shared);
        let reached = self.run(async move { applied(&shared, &[id], APPLIED_WITHIN).await });
        reached.await?.map_err(|_timed_out| BrokerError::NotApplied)
    }
}
