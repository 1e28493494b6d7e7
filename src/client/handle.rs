//! The handle that everything of a client hangs on.

use std::sync::Arc;

use crate::client::admin::Admin;
use crate::client::background::Background;
use crate::client::cluster::Brokers;
use crate::client::waiting::Waiter;
use crate::client::{
    ClientConfig, ClientError, Consumer, ConsumerConfig, Producer, ProducerConfig, Start,
};
use crate::io::{Clock, SystemClock};
use crate::types::TopicPartition;

/// A connected client. Clones are the same client; it is closed with the last of them, and of the
/// producers and consumers made from it.
#[derive(Clone, Debug)]
pub struct Client {
    core: Arc<Core>,
}

/// What the parts of a client share on the callers' side.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) brokers: Arc<Brokers>,
    pub(crate) waiter: Waiter,
    background: Background,
}

impl Client {
    /// Starts a client and makes sure that one of the addresses answers.
    ///
    /// # Errors
    /// [`ClientError::Connect`] with every address and what became of it.
    pub fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let client = Self::start(config, Arc::new(SystemClock))?;
        let brokers = Arc::clone(&client.core.brokers);
        client.core.run(async move { brokers.find().await })?;
        Ok(client)
    }

    fn start(config: ClientConfig, clock: Arc<dyn Clock>) -> Result<Self, ClientError> {
        let background = Background::start()?;
        let waiter = Waiter::new(Arc::clone(&clock), config.signals);
        let brokers = Arc::new(Brokers::new(config, clock, background.tasks().clone()));
        Ok(Self { core: Arc::new(Core { brokers, waiter, background }) })
    }

    /// The settings.
    pub fn config(&self) -> &ClientConfig {
        self.core.brokers.config()
    }

    /// A new producer.
    ///
    /// # Errors
    /// [`ClientError::Config`] when its settings contradict each other.
    pub fn producer(&self, config: ProducerConfig) -> Result<Producer, ClientError> {
        Producer::new(Arc::clone(&self.core), config)
    }

    /// A consumer of all partitions of `topics`, those to come included.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching a broker.
    pub fn consumer(
        &self,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        Consumer::of_topics(Arc::clone(&self.core), topics, config)
    }

    /// A consumer of some partitions, each from its own start.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and those of reaching a broker.
    pub fn partition_consumer(
        &self,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        Consumer::of_partitions(Arc::clone(&self.core), partitions, config)
    }

    /// Topics and their offsets.
    pub fn admin(&self) -> Admin {
        Admin::new(Arc::clone(&self.core))
    }

    /// Ends everything that was made from this client. Doing it again does nothing.
    pub fn close(&self) {
        self.core.background.stop();
    }
}

impl Core {
    /// Runs `work` on the client's thread and waits for it.
    pub(crate) fn run<T, F>(&self, work: F) -> Result<T, ClientError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
    {
        self.waiter.run(self.background.tasks(), work)
    }
}
