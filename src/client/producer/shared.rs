//! State shared by callers and the sending task.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::audit::Audit;
use super::buffer_pool::BufferPool;
use super::config::ProducerConfig;
use super::delivered::Delivered;
use super::delivery::{DelayReport, Delivery, Settled, Ticket, Undelivered, Wakeups};
use super::partitioner::Chosen;
use super::queue::{Appending, Dues, Queue};
use super::record::ProducerRecord;
use super::topics::{TopicQueues, Topics};
use crate::client::ClientError;
use crate::client::cluster::Brokers;
use crate::client::waiting::Waiter;
use crate::client::wakeup::Wakeup;
use crate::types::TopicPartition;

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
    pub(crate) delivered: Delivered,
    listed: Mutex<Vec<Arc<Queue>>>,
    flush_below: AtomicU64,
    pub(super) is_closed: AtomicBool,
    pub(super) delay_report: DelayReport,
}

impl Shared {
    /// The state of a producer that has not sent anything.
    pub(super) fn new(brokers: Arc<Brokers>, waiter: Waiter, config: ProducerConfig) -> Self {
        let nanos = brokers.clock().monotonic().as_nanos();
        let seed = u64::try_from(nanos).unwrap_or(u64::MAX);
        let client = &brokers.config().client_id;
        let name = format!("{client}-{}-{nanos:x}", std::process::id());
        Self {
            topics: Topics::new(in_memory(config.batch_size.0), seed),
            pool: BufferPool::new(in_memory(config.buffer.0)),
            wakeups: Arc::new(Wakeups { settled: Wakeup::default(), work: Notify::new(), waiter }),
            brokers,
            undelivered: Undelivered::default(),
            audit: Audit::of(&config, name),
            delivered: Delivered::default(),
            listed: Mutex::default(),
            flush_below: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            delay_report: DelayReport::default(),
            config,
        }
    }

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
            self.delivered.settled(&delivery, records);
            self.undelivered.close(&delivery, records);
        }
        self.wakeups.settled.wake_all();
    }

    /// Fails all batches without an outcome when the sending task ends, and wakes all callers.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.undelivered.close_all();
        self.wakeups.settled.wake_all();
        self.pool.wake_all();
    }

    /// Fails if a caller has given up a batch that is numbered below `ordinal`.
    pub(super) fn check_not_given_up(&self, ordinal: u64) -> Result<(), ClientError> {
        if self.undelivered.was_given_up_below(ordinal) { Err(ClientError::Closed) } else { Ok(()) }
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

/// A size in bytes that fits the memory of this machine.
pub(super) fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
