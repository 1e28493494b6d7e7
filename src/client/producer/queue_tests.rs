//! The queue of a partition: when its batches are due.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::buffer_pool::BufferPool;
use super::delivery::{Delivery, Ticket, Undelivered, Wakeups};
use super::queue::{Appending, Due, Dues, Queue};
use crate::client::waiting::Waiter;
use crate::client::wakeup::Wakeup;
use crate::io::{Clock, ManualClock};
use crate::record::BatchBuilder;
use crate::types::{PartitionIndex, Timestamp, TopicPartition};

/// The callers' side: a queue, and a manual clock.
pub(super) struct Callers {
    pub(super) clock: Arc<ManualClock>,
    pub(super) queue: Arc<Queue>,
    pool: Arc<BufferPool>,
    wakeups: Arc<Wakeups>,
    pub(super) undelivered: Undelivered,
}

impl Callers {
    pub(super) fn new(batch_size: usize) -> Self {
        let clock = Arc::new(ManualClock::default());
        let partition =
            TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
        let waiter = Waiter::new(Arc::clone(&clock) as Arc<dyn Clock>, None);
        Self {
            queue: Arc::new(Queue::new(partition, batch_size)),
            pool: BufferPool::new(1 << 20),
            wakeups: Arc::new(Wakeups { settled: Wakeup::default(), work: Notify::new(), waiter }),
            undelivered: Undelivered::default(),
            clock,
        }
    }

    pub(super) fn append(&self, value: &[u8]) -> Ticket {
        self.append_at(0, value)
    }

    pub(super) fn append_at(&self, time: i64, value: &[u8]) -> Ticket {
        let size = BatchBuilder::record_size_max(None, Some(value), &[]);
        assert!(self.pool.try_take(size));
        let record = Appending {
            timestamp: Timestamp::from_millis(time),
            key: None,
            value: Some(value),
            headers: &[],
            size,
            window: Some(Duration::from_millis(100)),
        };
        let open = |partition: &TopicPartition| {
            let wakeups = Arc::clone(&self.wakeups);
            let make = |ordinal| Delivery::new(partition.clone(), ordinal, wakeups);
            self.undelivered.open(make).map(|delivery| (delivery, self.clock.monotonic()))
        };
        self.queue.append(&record, &self.pool, open).unwrap().ticket
    }

    pub(super) fn dues(&self, linger_ms: u64) -> Dues {
        let linger = Duration::from_millis(linger_ms);
        Dues { now: self.clock.monotonic(), linger, flush_below: 0 }
    }
}

#[test]
fn a_batch_is_due_when_full_or_after_its_linger_time() {
    let callers = Callers::new(200);
    assert!(matches!(callers.queue.take_due(&callers.dues(5)), Due::Empty));
    callers.append(&[b'x'; 20]);
    let due_at = callers.clock.monotonic() + Duration::from_millis(5);
    let due = callers.queue.take_due(&callers.dues(5));
    assert!(matches!(due, Due::NotBefore(time) if time == due_at));
    callers.clock.advance(Duration::from_millis(5));
    assert!(matches!(callers.queue.take_due(&callers.dues(5)), Due::Batch(_)));

    for _ in 0..10 {
        callers.append(&[b'x'; 50]);
    }
    let mut counts = Vec::new();
    while let Due::Batch(batch) = callers.queue.take_due(&callers.dues(1_000)) {
        assert!(batch.builder.size() <= 200);
        counts.push(batch.builder.record_count());
    }
    assert_eq!(counts, [2, 2, 2, 2], "the last two records linger");
}

#[test]
fn a_batch_that_a_caller_waits_for_or_flushes_does_not_linger() {
    let callers = Callers::new(1_000);
    let ticket = callers.append(b"x");
    assert!(matches!(callers.queue.take_due(&callers.dues(1_000)), Due::NotBefore(_)));
    assert!(ticket.wait(Some(Duration::ZERO)).is_err());
    assert!(matches!(callers.queue.take_due(&callers.dues(1_000)), Due::Batch(_)));

    callers.append(b"y");
    let flushing = Dues { flush_below: 2, ..callers.dues(1_000) };
    assert!(matches!(callers.queue.take_due(&flushing), Due::Batch(_)));
}
