//! Creating, extending and deleting topics, and waiting until all brokers serve the result.

use std::sync::Arc;
use std::time::Duration;

use crate::broker::access::Peers;
use crate::broker::errors::Refusal;
use crate::engine::{
    APPLIED_WITHIN, EngineState, caught_up, check_new_topic, create_topic, delete_topic, led,
    with_fixed_settings,
};
use crate::metadata::{Image, NewTopic, TopicState};
use crate::types::{BrokerId, TopicId, TopicName};

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

/// Creates, extends and deletes topics of the cluster.
pub(crate) struct Topics<'a> {
    engine: &'a Arc<EngineState>,
    peers: &'a Arc<Peers>,
}

impl<'a> Topics<'a> {
    /// Creates access to the topics of an engine's cluster, which other brokers serve too.
    pub(crate) fn new(engine: &'a Arc<EngineState>, peers: &'a Arc<Peers>) -> Self {
        Self { engine, peers }
    }

    /// The current image of the cluster.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.engine.image()
    }

    /// Adds to a new topic the settings that are fixed at its creation.
    pub(crate) fn with_fixed_settings(&self, new: NewTopic) -> NewTopic {
        with_fixed_settings(self.engine, new)
    }

    /// Checks whether a topic can be created, and returns the replicas of its partitions.
    pub(crate) fn check(&self, topic: &NewTopic) -> Result<Vec<Vec<BrokerId>>, Refusal> {
        Ok(check_new_topic(self.engine, topic)?)
    }

    /// Checks whether a topic could be extended, and returns the replicas of the new partitions.
    pub(crate) async fn check_growth(&self, growth: Growth) -> Result<Vec<Vec<BrokerId>>, Refusal> {
        let engine = Arc::clone(self.engine);
        let checked = self.engine.control.run(async move {
            let Growth { topic, total, assignment } = &growth;
            engine.metadata.check_new_partitions(topic, *total, assignment).await
        });
        Ok(checked.await??)
    }

    /// Adds the replicas of new partitions to `planned`, which has those of the same request so
    /// far, if the cluster has the capacity for all of them together.
    pub(crate) fn plan(
        &self,
        planned: &mut Vec<Vec<BrokerId>>,
        replicas: Vec<Vec<BrokerId>>,
    ) -> Result<(), Refusal> {
        let before = planned.len();
        planned.extend(replicas);
        let checked = self.engine.metadata.check_capacity(planned);
        Ok(checked.inspect_err(|_| planned.truncate(before))?)
    }

    /// Creates a topic; its partitions are usable on return.
    pub(crate) async fn create(&self, new: NewTopic, within: Duration) -> Result<TopicId, Refusal> {
        let id = create_topic(self.engine, new, within).await?;
        self.peers.catch_up(&[id], within).await?;
        Ok(id)
    }

    /// Waits until this broker serves topics in these states or later ones. Returns false if that
    /// takes longer than `within`.
    pub(crate) async fn caught_up(&self, states: &[TopicState], within: Duration) -> bool {
        caught_up(self.engine, states, within).await.is_ok()
    }

    /// Creates a topic with default settings, because a request named it.
    pub(crate) async fn create_missing(&self, name: TopicName) -> Result<TopicId, Refusal> {
        self.create(NewTopic::named(name), APPLIED_WITHIN).await
    }

    /// Extends a topic; its new partitions are usable on return.
    pub(crate) async fn extend(&self, growth: Growth, within: Duration) -> Result<(), Refusal> {
        self.engine.logs.data.require_room().map_err(|error| Refusal::from(&error))?;
        let engine = Arc::clone(self.engine);
        let name = growth.topic.clone();
        let made = self.engine.control.run(async move {
            let Growth { topic, total, assignment } = &growth;
            engine.metadata.create_partitions(topic, *total, assignment).await
        });
        made.await??;
        let id = self.engine.image().topic(&name).map(|topic| topic.id);
        led(self.engine, id.as_slice(), within).await?;
        Ok(self.peers.catch_up(id.as_slice(), within).await?)
    }

    /// Deletes a topic; no broker serves it on return.
    pub(crate) async fn delete(
        &self,
        name: &TopicName,
        id: TopicId,
        within: Duration,
    ) -> Result<(), Refusal> {
        delete_topic(self.engine, name, id, within).await?;
        Ok(self.peers.catch_up(&[id], within).await?)
    }
}
