//! The client's handle, from which producers, consumers and admin are created.

use std::sync::Arc;
use std::time::Duration;

use crate::client::admin::Admin;
use crate::client::call::Call;
use crate::client::core::Core;
use crate::client::made::Made;
use crate::client::{
    ClientConfig, ClientError, ClientStats, Consumer, ConsumerConfig, Event, Producer,
    ProducerConfig, Start,
};
use crate::io::SystemClock;
use crate::types::TopicPartition;

/// A connected client. Clones share one client, which closes when the last clone and the last
/// producer or consumer created from it are dropped.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) core: Arc<Core>,
    pub(super) made: Arc<Made>,
}

impl Client {
    /// Starts a client and verifies that a bootstrap broker answers.
    ///
    /// # Errors
    /// [`ClientError::Connect`] with every address and the reason it failed, or
    /// [`ClientError::System`] if the client's thread cannot be started.
    pub fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let client = Self::start(config)?;
        client.reach().wait()?;
        Ok(client)
    }

    /// [`connect`](Self::connect) as a future.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connecting(config: ClientConfig) -> Result<Self, ClientError> {
        let client = Self::start(config)?;
        client.reach().await?;
        Ok(client)
    }

    /// Verifies that a bootstrap broker answers.
    fn reach(&self) -> Call<()> {
        let brokers = Arc::clone(&self.core.brokers);
        self.core.call(async move { brokers.find().await })
    }

    pub(super) fn start(config: ClientConfig) -> Result<Self, ClientError> {
        let core = Arc::new(Core::start(config, Arc::new(SystemClock))?);
        Ok(Self { core, made: Arc::default() })
    }

    /// The state shared by all handles.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The connection settings.
    pub fn config(&self) -> &ClientConfig {
        self.core.brokers.config()
    }

    /// Creates a producer.
    ///
    /// # Errors
    /// [`ClientError::Config`] when its settings contradict each other; [`ClientError::Closed`].
    pub fn producer(&self, config: ProducerConfig) -> Result<Producer, ClientError> {
        if self.core.brokers.tasks().is_stopping() {
            return Err(ClientError::Closed);
        }
        let producer = Producer::new(Arc::clone(&self.core), config)?;
        self.made.add_producer(&producer)?;
        Ok(producer)
    }

    /// Creates a consumer of `topics`: of all their partitions, including partitions added later,
    /// or, if the settings name a group, of the partitions that the group assigns to it.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], [`ClientError::Config`] for an invalid name, and connection
    /// errors.
    pub fn consumer(
        &self,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        self.made(Consumer::of_topics(Arc::clone(&self.core), topics, config))
    }

    /// [`consumer`](Self::consumer) as a future.
    ///
    /// # Errors
    /// As [`consumer`](Self::consumer).
    pub async fn making_consumer(
        &self,
        topics: &[&str],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        self.making(Consumer::making_of_topics(Arc::clone(&self.core), topics, config).await).await
    }

    /// [`partition_consumer`](Self::partition_consumer) as a future.
    ///
    /// # Errors
    /// As [`partition_consumer`](Self::partition_consumer).
    pub async fn making_partition_consumer(
        &self,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        let core = Arc::clone(&self.core);
        self.making(Consumer::making_of_partitions(core, partitions, config).await).await
    }

    /// Creates a consumer of the given partitions, each with its own start position.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn partition_consumer(
        &self,
        partitions: &[(TopicPartition, Start)],
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        self.made(Consumer::of_partitions(Arc::clone(&self.core), partitions, config))
    }

    /// Registers a consumer, so that closing the client closes it. If that has begun, the consumer
    /// is closed at once.
    fn made(&self, consumer: Result<Consumer, ClientError>) -> Result<Consumer, ClientError> {
        let consumer = consumer?;
        self.made.add_consumer(&consumer)?;
        Ok(consumer)
    }

    /// [`made`](Self::made) as a future: dropping a consumer would block the caller's thread.
    async fn making(
        &self,
        consumer: Result<Consumer, ClientError>,
    ) -> Result<Consumer, ClientError> {
        let consumer = consumer?;
        match self.made.add_consumer(&consumer) {
            Ok(()) => Ok(consumer),
            Err(error) => {
                consumer.closing().await;
                Err(error)
            }
        }
    }

    /// The administration of topics, groups, settings and the cluster.
    pub fn admin(&self) -> Admin {
        Admin::new(Arc::clone(&self.core))
    }

    /// Calls `listener` with each event until the client is closed. The listener runs on the
    /// client's network thread and must not block it.
    pub fn on_event(&self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        self.core.brokers.monitor().listen(Arc::new(listener));
    }

    /// The metrics of its connections.
    pub fn stats(&self) -> ClientStats {
        self.core.brokers.monitor().stats()
    }

    /// [`close`](Self::close) as a future. If it is dropped early, undelivered records are given
    /// up.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub async fn closing(&self) -> Result<(), ClientError> {
        let delivered = self.made.closing(&self.core).await;
        self.core.closing().await;
        delivered
    }

    /// Ends the client's tasks at once: records without an outcome are given up, and members leave
    /// their groups by session timeout. For a caller that stops waiting for [`closing`].
    ///
    /// [`closing`]: Self::closing
    pub fn abandon(&self) {
        self.core.abandon();
    }

    /// Closes everything that was created from this client. Producers deliver their records first,
    /// and members of groups commit their last offsets and leave. A second call does nothing.
    ///
    /// # Errors
    /// [`ClientError::Delivery`] with the failures that no caller has received from a ticket or a
    /// producer. The client is closed nevertheless.
    pub fn close(&self) -> Result<(), ClientError> {
        self.close_within(None)
    }

    /// [`close`](Self::close), giving up the records that are undelivered after `timeout`.
    ///
    /// # Errors
    /// As [`close`](Self::close), and as [`Producer::close`] after the timeout.
    pub fn close_within(&self, timeout: Option<Duration>) -> Result<(), ClientError> {
        let delivered = self.made.close(&self.core, timeout);
        self.core.close();
        delivered
    }
}
