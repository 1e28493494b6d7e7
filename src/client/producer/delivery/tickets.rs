//! Tickets of records being sent, and their outcomes.
//!
//! Each batch has a [`Delivery`]; a record's ticket holds a share of it and the record's index.
//! Outcomes are set once, by the sending task, which then wakes all waiting callers of the
//! producer. A split batch gets the outcomes of all its parts at the same time.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::outcome::{BatchAck, Outcome, Part};
use crate::client::ClientError;
use crate::client::waiting::Waiter;
use crate::client::wakeup::Wakeup;
use crate::types::{Offset, PartitionIndex, Timestamp, TopicName, TopicPartition};

/// The position of a delivered record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Its topic.
    pub topic: TopicName,
    /// Its partition.
    pub partition: PartitionIndex,
    /// Its offset; `None` if the broker did not report it (`acks=0`, or an old duplicate).
    pub offset: Option<Offset>,
    /// Its timestamp in the log.
    pub timestamp: Timestamp,
}

/// The pending outcome of a record.
#[derive(Debug)]
pub struct Ticket {
    delivery: Arc<Delivery>,
    index: u32,
    timestamp: Timestamp,
    is_seen: AtomicBool,
}

/// Wakeups between callers and the sending task.
#[derive(Debug)]
pub(crate) struct Wakeups {
    /// Notified when an outcome is set.
    pub(crate) settled: Wakeup,
    /// Notified when there is something to send.
    pub(crate) work: Notify,
    /// The callers' blocking waits.
    pub(crate) waiter: Waiter,
}

/// The outcome of a batch, once it is set.
#[derive(Debug)]
pub(crate) struct Delivery {
    partition: TopicPartition,
    ordinal: u64,
    wakeups: Arc<Wakeups>,
    is_urgent: AtomicBool,
    /// The number of records that were appended to the batch.
    records: AtomicU32,
    outcome: OnceLock<Outcome>,
    /// Futures that wait for this batch; a notification per batch avoids waking the futures of
    /// other batches.
    settled: Notify,
}

/// Batches with a final outcome, with their numbers of records.
pub(crate) type Settled = Vec<(Arc<Delivery>, u32)>;

impl Ticket {
    pub(crate) fn new(delivery: Arc<Delivery>, index: u32, timestamp: Timestamp) -> Self {
        Self { delivery, index, timestamp, is_seen: AtomicBool::new(false) }
    }

    /// Returns true if the outcome is known.
    pub fn is_done(&self) -> bool {
        self.delivery.is_settled()
    }

    /// Returns the outcome if it is known.
    pub fn outcome(&self) -> Option<Result<RecordMetadata, ClientError>> {
        self.delivery.outcome.get().map(|outcome| self.record_outcome(outcome))
    }

    /// Waits for the outcome, without limit if `timeout` is `None`. The record's batch is sent
    /// without lingering.
    ///
    /// # Errors
    /// The reason why the record was not delivered, or [`ClientError::Timeout`] of this wait, while
    /// the delivery itself continues.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<RecordMetadata, ClientError> {
        let delivery = &self.delivery;
        delivery.hurry();
        let wakeups = &delivery.wakeups;
        let gate = wakeups.settled.gate();
        let outcome = wakeups.waiter.wait(gate, timeout, || delivery.outcome.get())?;
        match outcome {
            Some(outcome) => self.record_outcome(outcome),
            None => Err(ClientError::Timeout {
                operation: "delivering a record",
                elapsed: timeout.unwrap_or_default(),
                last_error: None,
            }),
        }
    }

    /// A future that is ready once the outcome is known; [`wait`](Self::wait) then returns at once.
    pub fn settling(&self) -> impl Future<Output = ()> + Send + use<> {
        let delivery = Arc::clone(&self.delivery);
        delivery.hurry();
        async move {
            loop {
                let settled = delivery.settled.notified();
                if delivery.is_settled() {
                    break;
                }
                settled.await;
            }
        }
    }

    /// The outcome of the record from that of its batch; a failure counts as seen.
    fn record_outcome(&self, outcome: &Outcome) -> Result<RecordMetadata, ClientError> {
        let part = outcome.part_of(self.index);
        match &part.outcome {
            Ok(ack) => Ok(self.metadata(*ack, self.index - part.first)),
            Err(error) => {
                if !self.is_seen.swap(true, Ordering::AcqRel) {
                    part.see();
                }
                Err(error.clone())
            }
        }
    }

    /// The metadata of the record at `index` among the records delivered together.
    fn metadata(&self, ack: BatchAck, index: u32) -> RecordMetadata {
        RecordMetadata {
            topic: self.delivery.partition.topic.clone(),
            partition: self.delivery.partition.partition,
            offset: ack.base_offset.map(|base| base.plus(i64::from(index))),
            timestamp: ack.log_append_time.unwrap_or(self.timestamp),
        }
    }
}

impl Delivery {
    /// A batch without an outcome. `ordinal` increases from batch to batch of a producer.
    pub(crate) fn new(partition: TopicPartition, ordinal: u64, wakeups: Arc<Wakeups>) -> Self {
        Self {
            partition,
            ordinal,
            wakeups,
            is_urgent: AtomicBool::new(false),
            records: AtomicU32::new(0),
            outcome: OnceLock::new(),
            settled: Notify::new(),
        }
    }

    /// Makes the batch due, because a caller waits for it.
    fn hurry(&self) {
        if self.outcome.get().is_none() {
            self.is_urgent.store(true, Ordering::Release);
            self.wakeups.work.notify_one();
        }
    }

    /// Sets the number of records that were appended to the batch.
    pub(crate) fn set_records(&self, records: u32) {
        self.records.store(records, Ordering::Release);
    }

    /// The number of records that were appended to the batch.
    pub(crate) fn records(&self) -> u32 {
        self.records.load(Ordering::Acquire)
    }

    /// The batch's partition.
    pub(crate) fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// Its number among the producer's batches.
    pub(crate) fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Returns true if a caller waits for it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_urgent.load(Ordering::Acquire)
    }

    /// Sets the outcome and wakes futures; the caller wakes blocked threads, once for many batches.
    pub(crate) fn settle(&self, outcome: Result<BatchAck, ClientError>) {
        self.set(Outcome::Whole(Part::new(0, outcome)));
    }

    /// [`settle`](Self::settle) of a split batch with the outcomes of all its parts, in order.
    pub(crate) fn settle_in_parts(&self, parts: Vec<Part>) {
        self.set(Outcome::Split(parts));
    }

    fn set(&self, outcome: Outcome) {
        let was_open = self.outcome.set(outcome).is_ok();
        assert!(was_open, "batch {} of {} has two outcomes", self.ordinal, self.partition);
        self.settled.notify_waiters();
    }

    /// Returns true if the outcome is set.
    pub(crate) fn is_settled(&self) -> bool {
        self.outcome.get().is_some()
    }

    /// The parts of its `records` records, each with its number of records; empty without an
    /// outcome.
    pub(crate) fn parts(&self, records: u32) -> impl Iterator<Item = (&Part, u32)> {
        let parts = self.outcome.get().map(Outcome::parts).unwrap_or_default();
        let ends = parts.iter().skip(1).map(|part| part.first).chain([records]);
        parts.iter().zip(ends).map(|(part, end)| (part, end - part.first))
    }

    /// The [`parts`](Self::parts) that were not delivered, with the reasons.
    pub(crate) fn failures(
        &self,
        records: u32,
    ) -> impl Iterator<Item = (&Part, u32, &ClientError)> {
        self.parts(records)
            .filter_map(|(part, count)| Some((part, count, part.outcome.as_ref().err()?)))
    }
}
