//! What a caller holds of a record on its way, and how it learns the outcome.
//!
//! A batch has one [`Delivery`]; the ticket of a record is a share of it and a number. Outcomes are
//! set once, by the task that sends, and all waiting callers of the producer are woken. A batch
//! that had to be split has the outcomes of all its parts at once.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::splitting::{Outcome, Part};
use crate::client::ClientError;
use crate::client::bell::Bell;
use crate::client::waiting::Waiter;
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};

/// Where a delivered record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Its topic.
    pub topic: TopicName,
    /// Its partition.
    pub partition: PartitionIndex,
    /// Its offset; `None` when the broker was not asked (`acks=0`) or had forgotten.
    pub offset: Option<Offset>,
    /// Its time, as the log has it.
    pub timestamp: Timestamp,
}

/// A record on its way.
#[derive(Debug)]
pub struct Ticket {
    delivery: Arc<Delivery>,
    index: u32,
    timestamp: Timestamp,
    is_seen: AtomicBool,
}

/// What callers and the sending task wake each other by.
#[derive(Debug)]
pub(crate) struct Bells {
    /// Rings when an outcome is set.
    pub(crate) settled: Bell,
    /// Rings when there is something to send.
    pub(crate) work: Notify,
    /// How callers wait.
    pub(crate) waiter: Waiter,
}

/// The outcome of a batch, sooner or later.
#[derive(Debug)]
pub(crate) struct Delivery {
    partition: TopicPartition,
    ordinal: u64,
    bells: Arc<Bells>,
    is_urgent: AtomicBool,
    outcome: OnceLock<Outcome>,
    /// Where futures wait: those of other batches are not woken.
    told: Notify,
}

/// Where a delivered batch is, or a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Landed {
    /// The offset of its first record, where the broker told.
    pub(crate) base_offset: Option<Offset>,
    /// The time of all its records, where the broker decides it.
    pub(crate) log_append_time: Option<Timestamp>,
}

impl Ticket {
    pub(crate) fn new(delivery: Arc<Delivery>, index: u32, timestamp: Timestamp) -> Self {
        Self { delivery, index, timestamp, is_seen: AtomicBool::new(false) }
    }

    /// Whether the outcome is known.
    pub fn is_done(&self) -> bool {
        self.delivery.is_settled()
    }

    /// The outcome if it is known.
    pub fn outcome(&self) -> Option<Result<RecordMetadata, ClientError>> {
        self.delivery.outcome.get().map(|outcome| self.told(outcome))
    }

    /// Waits for the outcome, for ever without a `timeout`. The record's batch is sent at once,
    /// since somebody waits for it.
    ///
    /// # Errors
    /// The reason why the record was not delivered, or [`ClientError::Timeout`] of this wait: the
    /// delivery itself goes on.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<RecordMetadata, ClientError> {
        let delivery = &self.delivery;
        delivery.hurry();
        let bells = &delivery.bells;
        let gate = bells.settled.gate();
        let outcome = bells.waiter.wait(gate, timeout, || delivery.outcome.get())?;
        match outcome {
            Some(outcome) => self.told(outcome),
            None => Err(ClientError::Timeout {
                operation: "delivering a record",
                elapsed: timeout.unwrap_or_default(),
                last_error: None,
            }),
        }
    }

    /// Ready once the outcome is known, which [`wait`](Self::wait) then tells at once.
    pub fn settling(&self) -> impl Future<Output = ()> + Send + use<> {
        let delivery = Arc::clone(&self.delivery);
        delivery.hurry();
        async move {
            loop {
                let told = delivery.told.notified();
                if delivery.is_settled() {
                    break;
                }
                told.await;
            }
        }
    }

    /// The outcome of the record's batch as that of the record; a failure counts as seen.
    fn told(&self, outcome: &Outcome) -> Result<RecordMetadata, ClientError> {
        let part = outcome.part_of(self.index);
        match &part.outcome {
            Ok(landed) => Ok(self.metadata(*landed, self.index - part.first)),
            Err(error) => {
                if !self.is_seen.swap(true, Ordering::AcqRel) {
                    part.see();
                }
                Err(error.clone())
            }
        }
    }

    /// It is the record number `index` of those that landed together.
    fn metadata(&self, landed: Landed, index: u32) -> RecordMetadata {
        RecordMetadata {
            topic: self.delivery.partition.topic.clone(),
            partition: self.delivery.partition.partition,
            offset: landed.base_offset.map(|base| base.plus(i64::from(index))),
            timestamp: landed.log_append_time.unwrap_or(self.timestamp),
        }
    }
}

impl Delivery {
    /// A batch whose outcome is open. `ordinal` rises from batch to batch of a producer.
    pub(crate) fn new(partition: TopicPartition, ordinal: u64, bells: Arc<Bells>) -> Self {
        Self {
            partition,
            ordinal,
            bells,
            is_urgent: AtomicBool::new(false),
            outcome: OnceLock::new(),
            told: Notify::new(),
        }
    }

    /// Somebody waits for it.
    fn hurry(&self) {
        if self.outcome.get().is_none() {
            self.is_urgent.store(true, Ordering::Release);
            self.bells.work.notify_one();
        }
    }

    /// Where the batch goes.
    pub(crate) fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Its place among the producer's batches.
    pub(crate) fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Whether a caller waits for it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_urgent.load(Ordering::Acquire)
    }

    /// Sets the outcome; threads that wait are woken by the caller, once for many.
    pub(crate) fn settle(&self, outcome: Result<Landed, ClientError>) {
        self.set(Outcome::Whole(Part::new(0, outcome)));
    }

    /// [`settle`](Self::settle) of a batch that was split: all parts, in order.
    pub(crate) fn settle_in_parts(&self, parts: Vec<Part>) {
        self.set(Outcome::Split(parts));
    }

    fn set(&self, outcome: Outcome) {
        let was_open = self.outcome.set(outcome).is_ok();
        assert!(was_open, "batch {} of {} has two outcomes", self.ordinal, self.partition);
        self.told.notify_waiters();
    }

    /// Whether it has its outcome.
    pub(crate) fn is_settled(&self) -> bool {
        self.outcome.get().is_some()
    }

    /// What became of its `records` records, once that is known: parts, each with how many of them
    /// it has.
    pub(crate) fn parts(&self, records: u32) -> impl Iterator<Item = (&Part, u32)> {
        let parts = self.outcome.get().map(Outcome::parts).unwrap_or_default();
        let ends = parts.iter().skip(1).map(|part| part.first).chain([records]);
        parts.iter().zip(ends).map(|(part, end)| (part, end - part.first))
    }

    /// [`parts`](Self::parts) that were not delivered, and why.
    pub(crate) fn failures(
        &self,
        records: u32,
    ) -> impl Iterator<Item = (&Part, u32, &ClientError)> {
        self.parts(records)
            .filter_map(|(part, count)| Some((part, count, part.outcome.as_ref().err()?)))
    }
}
