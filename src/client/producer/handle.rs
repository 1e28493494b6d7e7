//! The producer's handle.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::audit::Audit;
use super::buffer_pool::BufferPool;
use super::landings::Landings;
use super::partitioner::Chosen;
use super::queue::{Appending, Dues, Queue};
use super::send_queue::Settled;
use super::sender::Sender;
use super::tickets::{Delivery, Wakeups};
use super::topics::{TopicQueues, Topics};
use super::undelivered::Undelivered;
use crate::client::call::Call;
use crate::client::cluster::{Brokers, Deadline};
use crate::client::core::Core;
use crate::client::error::topic_name;
use crate::client::wakeup::Wakeup;
use crate::client::{ClientError, ProducerConfig, Ticket};
use crate::config::ConfigError;
use crate::record::{BatchBuilder, Compressor, HEADER_SIZE, Header};
use crate::types::{PartitionIndex, Timestamp, TopicName, TopicPartition};

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

/// A record to send. The default has no topic and no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProducerRecord<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its partition; `None` leaves it to the partitioner.
    pub partition: Option<PartitionIndex>,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: &'a [Header<'a>],
    /// Its timestamp; `None` is now.
    pub timestamp: Option<Timestamp>,
}

/// State shared by callers and the sending task.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ProducerConfig,
    pub(crate) brokers: Arc<Brokers>,
    pub(crate) topics: Topics,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) pool: Arc<BufferPool>,
    pub(super) undelivered: Undelivered,
    pub(crate) audit: Option<Audit>,
    pub(crate) landings: Landings,
    listed: Mutex<Vec<Arc<Queue>>>,
    flush_below: AtomicU64,
    pub(super) is_closed: AtomicBool,
    /// The callback for a broker that cannot store records at present.
    pub(super) on_refusal: OnceLock<fn(&ClientError)>,
}

impl Producer {
    pub(crate) fn new(core: Arc<Core>, config: ProducerConfig) -> Result<Self, ClientError> {
        config.validate()?;
        let compressor = Compressor::new(config.compression, config.compression_level)
            .map_err(|error| ConfigError::single("compression.level", error.to_string()))?;
        let waiter = core.waiter.clone();
        let nanos = core.brokers.clock().monotonic().as_nanos();
        let seed = u64::try_from(nanos).unwrap_or(u64::MAX);
        let client = &core.brokers.config().client_id;
        let name = format!("{client}-{}-{nanos:x}", std::process::id());
        let shared = Arc::new(Shared {
            topics: Topics::new(in_memory(config.batch_size.0), seed),
            pool: BufferPool::new(in_memory(config.buffer.0)),
            wakeups: Arc::new(Wakeups { settled: Wakeup::default(), work: Notify::new(), waiter }),
            brokers: Arc::clone(&core.brokers),
            undelivered: Undelivered::default(),
            audit: Audit::of(&config, name),
            landings: Landings::default(),
            listed: Mutex::default(),
            flush_below: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            on_refusal: OnceLock::new(),
            config,
        });
        let sender = Sender::new(Arc::clone(&shared), compressor);
        let task = core.brokers.tasks().start(sender.run());
        Ok(Self { core, shared, task })
    }

    /// Sends a record. It blocks only for buffer space, or for the topic's metadata.
    ///
    /// # Errors
    /// [`ClientError::MessageTooLarge`], [`ClientError::TopicNotFound`], and
    /// [`ClientError::Timeout`] if there is no buffer space within `max.block.ms`.
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
    /// [`ClientError::MessageTooLarge`] and [`ClientError::Closed`].
    pub fn try_send(&self, record: &ProducerRecord<'_>) -> Result<Option<Ticket>, ClientError> {
        let size = self.size_of(record)?;
        let Some(topic) = self.known_topic(record)? else { return Ok(None) };
        if !self.shared.pool.try_take(size) {
            return Ok(None);
        }
        self.shared.append(&topic, record, size).map(Some)
    }

    /// Returns the number of partitions of a topic; the metadata of an unknown topic is requested.
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

    /// Sets the callback for a broker that cannot store records, usually because its disk is full,
    /// while the producer retries until `delivery.timeout.ms`. It is called once per outage. Only
    /// the first callback is kept.
    pub(crate) fn on_refusal(&self, listener: fn(&ClientError)) {
        let _ = self.shared.on_refusal.set(listener);
    }

    /// Waits until every record sent before has its outcome, without lingering.
    ///
    /// # Errors
    /// [`ClientError::Delivery`] with the failures that no caller has received from a ticket, and
    /// [`ClientError::Timeout`].
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
        let shared = &self.shared;
        let below = shared.hurry();
        let attempt = || shared.undelivered.none_open_below(below).then_some(());
        match shared.wakeups.waiter.wait(shared.wakeups.settled.gate(), timeout, attempt)? {
            Some(()) => shared.undelivered.report(),
            None => Err(ClientError::Timeout {
                operation: "flushing the producer",
                elapsed: timeout.unwrap_or_default(),
                last_error: None,
            }),
        }
    }

    /// Accepts no more records, flushes, and gives up records undelivered by then. A second call
    /// does nothing.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(&self, timeout: Option<Duration>) -> Result<(), ClientError> {
        if self.shared.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.shared.pool.wake_all();
        let flushed = self.flush(timeout);
        self.task.abort();
        flushed
    }

    pub(crate) fn size_of(&self, record: &ProducerRecord<'_>) -> Result<usize, ClientError> {
        let size = BatchBuilder::record_size_max(record.key, record.value, record.headers);
        let limit = in_memory(self.shared.config.request_max.0);
        if size.saturating_add(HEADER_SIZE) > limit {
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
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// The monotonic time.
    pub(crate) fn now(&self) -> Duration {
        self.brokers.clock().monotonic()
    }

    /// Returns true if the producer is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Makes the sending task send all records so far without lingering. Returns the number of the
    /// next batch.
    pub(super) fn hurry(&self) -> u64 {
        let below = self.undelivered.next_ordinal();
        self.flush_below.fetch_max(below, Ordering::AcqRel);
        self.wakeups.work.notify_one();
        below
    }

    /// Takes the queues that became non-empty since the last call.
    pub(crate) fn take_listed(&self) -> Vec<Arc<Queue>> {
        std::mem::take(&mut self.listed())
    }

    /// The conditions under which a batch is due now.
    pub(crate) fn dues(&self) -> Dues {
        // Callers waiting for buffer space cannot fill the batches that hold it, so lingering is
        // pointless.
        let flush_below =
            if self.pool.is_wanted() { u64::MAX } else { self.flush_below.load(Ordering::Acquire) };
        Dues { now: self.now(), linger: self.config.linger, flush_below }
    }

    /// The error for a record without buffer space within `max.block.ms`.
    pub(super) fn buffer_full(&self) -> ClientError {
        if self.is_closed() {
            return ClientError::Closed;
        }
        let (operation, elapsed) = ("waiting for buffer space", self.config.send_timeout);
        ClientError::Timeout { operation, elapsed, last_error: None }
    }

    /// Records the outcomes of batches and wakes the callers waiting for them.
    pub(crate) fn settled(&self, settled: Settled) {
        if settled.is_empty() {
            return;
        }
        for (delivery, records) in settled {
            self.landings.settled(&delivery, records);
            self.undelivered.close(&delivery, records);
        }
        self.wakeups.settled.wake_all();
    }

    /// Fails everything open when the sending task ends, and wakes all callers.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.undelivered.close_all();
        self.wakeups.settled.wake_all();
        self.pool.wake_all();
    }

    /// Registers the new partitions of topics that have grown.
    pub(crate) fn learn_partitions(&self) {
        let topology = self.brokers.topology();
        for name in self.topics.names() {
            if let Some(info) = topology.topic(&name) {
                self.topics.learn(&name, info.partitions.len());
            }
        }
    }

    pub(crate) fn metadata_max_age(&self) -> Duration {
        self.brokers.config().metadata_max_age
    }

    pub(crate) fn request_timeout_ms(&self) -> i32 {
        i32::try_from(self.brokers.config().request_timeout.as_millis()).unwrap_or(i32::MAX)
    }

    /// The time to wait for the response to a batch opened at `opened_at`, limited by its delivery
    /// timeout.
    pub(crate) fn answer_limit(&self, opened_at: Duration, now: Duration) -> Duration {
        let left = opened_at.saturating_add(self.config.delivery_timeout).saturating_sub(now);
        left.min(self.brokers.config().request_timeout)
    }

    /// Appends a record for which `size` bytes of buffer space were reserved.
    pub(crate) fn append(
        &self,
        topic: &TopicQueues,
        record: &ProducerRecord<'_>,
        size: usize,
    ) -> Result<Ticket, ClientError> {
        let queue = self.queue_for(topic, record);
        let clock = self.brokers.clock();
        let appending = Appending {
            timestamp: record.timestamp.unwrap_or_else(|| clock.now()),
            key: record.key,
            value: record.value,
            headers: record.headers,
            size,
            window: self.audit.as_ref().map(Audit::window),
        };
        let open = |partition: &TopicPartition| {
            let make =
                |ordinal| Delivery::new(partition.clone(), ordinal, Arc::clone(&self.wakeups));
            self.undelivered.open(make).map(|delivery| (delivery, clock.monotonic()))
        };
        let appended = queue.append(&appending, &self.pool, open);
        let appended = appended.inspect_err(|_| self.pool.give_back(size))?;
        if appended.fills && self.config.partitioner.is_sticky(record.key.is_some()) {
            topic.cursor.advance();
        }
        if appended.lists {
            self.listed().push(Arc::clone(queue));
        }
        if appended.wakes {
            self.wakeups.work.notify_one();
        }
        Ok(appended.ticket)
    }

    fn queue_for<'t>(&self, topic: &'t TopicQueues, record: &ProducerRecord<'_>) -> &'t Arc<Queue> {
        let asked = record.partition.and_then(|partition| usize::try_from(partition.0).ok());
        let index = asked.unwrap_or_else(|| {
            let chosen = Chosen { topic: record.topic, key: record.key, value: record.value };
            self.config.partitioner.choose(chosen, &topic.cursor, topic.queues.len())
        });
        &topic.queues[index]
    }

    fn listed(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
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

fn missing(record: &ProducerRecord<'_>) -> ClientError {
    let partition = record.partition.unwrap_or_default();
    ClientError::no_topic(format_args!("{}-{partition}", record.topic))
}

fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
