//! The producer's handle.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::publishing::AUDIT_RECORD;
use super::record::ProducerRecord;
use super::sender::Sender;
use super::shared::{Shared, in_memory};
use super::topics::TopicQueues;
use crate::client::call::Call;
use crate::client::cluster::{Brokers, Deadline};
use crate::client::core::Core;
use crate::client::error::topic_name;
use crate::client::{ClientError, ProducerConfig, Ticket};
use crate::config::ConfigError;
use crate::record::{BatchBuilder, Compressor, HEADER_SIZE};
use crate::types::{PartitionIndex, TopicName};

/// A producer of records. It may be used from any number of threads.
///
/// Dropping it gives up undelivered records: call [`close`](Self::close) or [`flush`](Self::flush)
/// first.
#[derive(Debug)]
pub struct Producer {
    pub(super) core: Arc<Core>,
    pub(crate) shared: Arc<Shared>,
    pub(super) task: AbortHandle,
}

/// A reference that does not keep a producer open, for the client that closes it.
#[derive(Clone, Debug)]
pub(crate) struct WeakProducer {
    shared: Weak<Shared>,
    task: AbortHandle,
}

impl Producer {
    pub(crate) fn new(core: Arc<Core>, config: ProducerConfig) -> Result<Self, ClientError> {
        config.validate()?;
        let compressor = Compressor::new(config.compression, config.compression_level)
            .map_err(|error| ConfigError::single("compression.level", error.to_string()))?;
        let brokers = Arc::clone(&core.brokers);
        let shared = Arc::new(Shared::new(brokers, core.waiter.clone(), config));
        let sender = Sender::new(Arc::clone(&shared), compressor);
        let task = core.brokers.tasks().start(sender.run());
        Ok(Self { core, shared, task })
    }

    /// Sends a record. It blocks only for buffer space, or for the topic's metadata.
    ///
    /// # Errors
    /// [`ClientError::MessageTooLarge`], [`ClientError::TopicNotFound`], [`ClientError::Closed`],
    /// [`ClientError::Config`] for an invalid name of the topic, and [`ClientError::Timeout`] if
    /// there is no buffer space, or no metadata of the topic, within `max.block.ms`.
    pub fn send(&self, record: &ProducerRecord<'_>) -> Result<Ticket, ClientError> {
        if let Some(ticket) = self.try_send(record)? {
            return Ok(ticket);
        }
        let topic = match self.known_topic(record)? {
            Some(topic) => topic,
            None => self.found_topic(record, self.find_topic(record).wait()?)?,
        };
        let size = self.size_of(record)?;
        let shared = &self.shared;
        let timeout = shared.config.send_timeout;
        let waiting = shared.pool.waiting();
        shared.wakeups.work.notify_one();
        if waiting.take(size, &shared.wakeups.waiter, timeout, || shared.is_closed())? {
            return shared.append(&topic, record, size);
        }
        Err(shared.buffer_full())
    }

    /// Sends a record if this needs no waiting; returns `None` otherwise.
    ///
    /// # Errors
    /// [`ClientError::MessageTooLarge`], [`ClientError::Closed`], and
    /// [`ClientError::TopicNotFound`] for a negative partition.
    pub fn try_send(&self, record: &ProducerRecord<'_>) -> Result<Option<Ticket>, ClientError> {
        let size = self.size_of(record)?;
        let Some(topic) = self.known_topic(record)? else { return Ok(None) };
        if !self.shared.pool.try_take(size) {
            return Ok(None);
        }
        self.shared.append(&topic, record, size).map(Some)
    }

    /// Returns the number of partitions of a topic. A topic that is not known yet is looked up, and
    /// created if it does not exist and the brokers allow this.
    ///
    /// # Errors
    /// [`ClientError::TopicNotFound`], and connection errors.
    pub fn partition_count(&self, topic: &str) -> Result<usize, ClientError> {
        let record = ProducerRecord { topic, ..ProducerRecord::default() };
        let known = match self.shared.topics.get(topic) {
            Some(known) => known,
            None => self.found_topic(&record, self.find_topic(&record).wait()?)?,
        };
        Ok(known.queues.len())
    }

    /// Sets the callback for records that are delayed while the producer retries until
    /// `delivery.timeout.ms`: a broker cannot store them, usually because its disk is full, or
    /// cannot be reached for some seconds. It is called once per outage. Only the first callback is
    /// kept.
    pub(crate) fn on_delay(&self, listener: impl Fn(&ClientError) + Send + Sync + 'static) {
        self.shared.delay_report.listen(listener);
    }

    /// Waits until every record sent before this call is delivered or has failed. Batches are sent
    /// at once, without waiting for `linger.ms`.
    ///
    /// # Errors
    /// [`ClientError::Delivery`] with the failures that no caller has received from a ticket,
    /// [`ClientError::Timeout`], [`ClientError::Closed`] if another caller has given some of them
    /// up, and errors of publishing the audit counts.
    pub fn flush(&self, timeout: Option<Duration>) -> Result<(), ClientError> {
        let flushed = self.flush_records(timeout);
        if !Self::leaves_counts(&flushed) {
            return flushed;
        }
        let told = match self.publish_counts() {
            Ok(true) => self.flush_records(timeout),
            told => told.map(drop),
        };
        flushed.and(told)
    }

    fn flush_records(&self, timeout: Option<Duration>) -> Result<(), ClientError> {
        let below = self.wait_settled(timeout)?;
        self.shared.undelivered.report().and(self.shared.check_not_given_up(below))
    }

    /// Waits until every record sent before this call has an outcome, or was given up. Returns the
    /// number of the next batch after them.
    fn wait_settled(&self, timeout: Option<Duration>) -> Result<u64, ClientError> {
        let shared = &self.shared;
        let below = shared.hurry();
        let attempt = || shared.undelivered.none_open_below(below).then_some(());
        match shared.wakeups.waiter.wait(shared.wakeups.settled.gate(), timeout, attempt)? {
            Some(()) => Ok(below),
            None => Err(ClientError::Timeout {
                operation: "flushing the producer",
                elapsed: timeout.unwrap_or_default(),
                last_error: None,
            }),
        }
    }

    /// Accepts no more records, flushes, and gives up records undelivered by then. A second call
    /// only reports failures that were not reported yet.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). The last error of a [`ClientError::Timeout`] has the number of
    /// records that were given up.
    pub fn close(&self, timeout: Option<Duration>) -> Result<(), ClientError> {
        if self.shared.is_closed.swap(true, Ordering::AcqRel) {
            return self.shared.undelivered.report();
        }
        self.shared.pool.wake_all();
        let flushed = self.flush(timeout);
        let closed = match flushed {
            Err(ClientError::Timeout { elapsed, last_error, operation }) => {
                Err(match self.shared.undelivered.give_up() {
                    // Only the audit counts are not published.
                    0 => ClientError::Timeout { operation, elapsed, last_error },
                    records => dropped(records, elapsed),
                })
            }
            flushed => flushed,
        };
        self.task.abort();
        closed
    }

    /// The reference for the client.
    pub(crate) fn downgrade(&self) -> WeakProducer {
        WeakProducer { shared: Arc::downgrade(&self.shared), task: self.task.clone() }
    }

    /// The number of records without an outcome, or given up.
    pub fn undelivered_records(&self) -> u64 {
        self.shared.undelivered.records()
    }

    /// The number of records that were delivered to a topic.
    pub(crate) fn delivered_records(&self, topic: &str) -> u64 {
        self.shared.delivered.records(topic)
    }

    pub(crate) fn size_of(&self, record: &ProducerRecord<'_>) -> Result<usize, ClientError> {
        let size = BatchBuilder::record_size_max(record.key, record.value, record.headers);
        let limit = in_memory(self.shared.config.request_max.0);
        let size_in_batch = size.saturating_add(HEADER_SIZE);
        if size_in_batch > limit {
            let size = size_in_batch;
            return Err(ClientError::MessageTooLarge { size, limit: Some(limit) });
        }
        if self.shared.is_closed() { Err(ClientError::Closed) } else { Ok(size) }
    }

    /// Returns the record's topic if it and the requested partition are known.
    pub(super) fn known_topic(
        &self,
        record: &ProducerRecord<'_>,
    ) -> Result<Option<Arc<TopicQueues>>, ClientError> {
        let topic = self.shared.topics.get(record.topic);
        match record.partition {
            None => Ok(topic),
            Some(PartitionIndex(index)) => {
                let index = usize::try_from(index).map_err(|_| missing(record))?;
                Ok(topic.filter(|topic| index < topic.queues.len()))
            }
        }
    }

    /// Requests the metadata of the record's topic, which may create the topic.
    pub(super) fn find_topic(&self, record: &ProducerRecord<'_>) -> Call<(TopicName, usize)> {
        let shared = Arc::clone(&self.shared);
        let topic = record.topic.to_owned();
        self.core.call(async move {
            let brokers = &shared.brokers;
            let about = topic_name(&topic)?;
            let deadline = brokers.deadline("finding a topic", shared.config.send_timeout);
            let is_known = shared.topics.get(&topic).is_some();
            let looking = || async {
                if is_known {
                    // The topic is known but the partition is missing: the topic may have grown.
                    brokers.refresh(Some(std::slice::from_ref(&about)), false).await?;
                }
                match brokers.topic(&about, false).await {
                    Err(ClientError::TopicNotFound { .. }) => Ok(None),
                    found => found.map(Some),
                }
            };
            let count = match brokers.until(deadline, &[], looking).await? {
                Some(found) => found.partitions.len(),
                None => create_topic(brokers, &about, deadline).await?,
            };
            Ok((about, count))
        })
    }

    /// Registers the record's topic with this number of partitions.
    pub(super) fn found_topic(
        &self,
        record: &ProducerRecord<'_>,
        (name, partitions): (TopicName, usize),
    ) -> Result<Arc<TopicQueues>, ClientError> {
        self.shared.topics.learn(&name, partitions);
        self.known_topic(record)?.ok_or_else(|| missing(record))
    }

    /// Returns true if all records have an outcome after this flush, even if some failed: the audit
    /// then counts every delivered record.
    pub(crate) fn leaves_counts(flushed: &Result<(), ClientError>) -> bool {
        matches!(flushed, Ok(()) | Err(ClientError::Delivery { .. }))
    }

    /// Sends the unpublished counts, looking up the audit topic if necessary; true if any was sent.
    pub(crate) fn publish_counts(&self) -> Result<bool, ClientError> {
        if !self.shared.has_counts() {
            return Ok(false);
        }
        if self.known_topic(&AUDIT_RECORD)?.is_none() {
            self.found_topic(&AUDIT_RECORD, self.find_topic(&AUDIT_RECORD).wait()?)?;
        }
        self.shared.publish_counts()
    }

    /// [`publish_counts`](Self::publish_counts) as a future.
    pub(crate) async fn publishing_counts(&self) -> Result<bool, ClientError> {
        if !self.shared.has_counts() {
            return Ok(false);
        }
        if self.known_topic(&AUDIT_RECORD)?.is_none() {
            self.found_topic(&AUDIT_RECORD, self.find_topic(&AUDIT_RECORD).await?)?;
        }
        self.shared.publish_counts()
    }
}

impl WeakProducer {
    /// Returns true while the producer exists.
    pub(crate) fn exists(&self) -> bool {
        self.shared.strong_count() > 0
    }

    /// Closes the producer. If the application has closed it already, only waits for the end of
    /// that.
    pub(crate) fn close(
        &self,
        core: &Arc<Core>,
        timeout: Option<Duration>,
    ) -> Result<(), ClientError> {
        let Some(producer) = self.upgrade(core) else { return Ok(()) };
        if producer.shared.is_closed() {
            return producer.wait_settled(timeout).map(drop);
        }
        producer.close(timeout)
    }

    /// [`close`](Self::close) as a future. If it is dropped early, undelivered records are given
    /// up.
    pub(crate) async fn closing(&self, core: &Arc<Core>) -> Result<(), ClientError> {
        let Some(producer) = self.upgrade(core) else { return Ok(()) };
        if producer.shared.is_closed() {
            producer.settling_records().await;
            return Ok(());
        }
        let counted = producer.closing().await;
        producer.report().and(counted)
    }

    /// The producer, whose sending task ends with the returned value.
    fn upgrade(&self, core: &Arc<Core>) -> Option<Producer> {
        let (shared, task) = (self.shared.upgrade()?, self.task.clone());
        Some(Producer { core: Arc::clone(core), shared, task })
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Creates a topic with the brokers' defaults and returns its number of partitions.
async fn create_topic(
    brokers: &Brokers,
    name: &TopicName,
    deadline: Deadline,
) -> Result<usize, ClientError> {
    match brokers.until(deadline, &[], || brokers.topic(name, true)).await {
        Ok(created) => {
            let count = created.partitions.len();
            tracing::info!(
                "created topic '{name}' with {count} partitions: a record was sent to it"
            );
            Ok(count)
        }
        Err(error) => Err(brokers.with_nearest(error).await),
    }
}

/// The error of closing a producer that has dropped records after a timeout.
fn dropped(records: u64, elapsed: Duration) -> ClientError {
    let dropped = ClientError::Delivery { failures: Vec::new(), unlisted: records };
    let last_error = Some(Box::new(dropped));
    ClientError::Timeout { operation: "closing the producer", elapsed, last_error }
}

fn missing(record: &ProducerRecord<'_>) -> ClientError {
    let partition = record.partition.unwrap_or_default();
    ClientError::no_topic(format_args!("{}-{partition}", record.topic))
}
