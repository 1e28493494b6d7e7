//! Failures that are reported, once, and batches that are given up.

use std::sync::Arc;

use tokio::sync::Notify;

use super::tickets::{Delivery, Ticket, Wakeups};
use super::undelivered::{LISTED_MAX, Undelivered};
use crate::client::ClientError;
use crate::client::waiting::Waiter;
use crate::client::wakeup::Wakeup;
use crate::io::ManualClock;
use crate::types::{PartitionIndex, Timestamp, TopicPartition};

/// Failures of a producer with batches of one record.
struct Failing {
    undelivered: Undelivered,
    wakeups: Arc<Wakeups>,
}

impl Failing {
    fn new() -> Self {
        let waiter = Waiter::new(Arc::new(ManualClock::default()), None);
        let wakeups = Wakeups { settled: Wakeup::default(), work: Notify::new(), waiter };
        Self { undelivered: Undelivered::default(), wakeups: Arc::new(wakeups) }
    }

    fn open(&self) -> Arc<Delivery> {
        let topic = "t".parse().unwrap();
        let partition = TopicPartition { topic, partition: PartitionIndex(0) };
        let make = |ordinal| Delivery::new(partition, ordinal, Arc::clone(&self.wakeups));
        let delivery = self.undelivered.open(make).unwrap();
        delivery.set_records(1);
        delivery
    }

    fn fail(&self) -> Ticket {
        let delivery = self.open();
        delivery.settle(Err(ClientError::Closed));
        self.undelivered.close(&delivery, 1);
        Ticket::new(delivery, 0, Timestamp::from_millis(0))
    }

    /// The number of failures reported one by one, and of the failures beyond.
    fn reported(&self) -> (usize, u64) {
        match self.undelivered.report() {
            Ok(()) => (0, 0),
            Err(ClientError::Delivery { failures, unlisted }) => (failures.len(), unlisted),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn failures_received_from_tickets_are_not_reported_again() {
    let failing = Failing::new();
    for _ in 0..1_000 {
        failing.fail().outcome().unwrap().unwrap_err();
    }
    let tickets: Vec<Ticket> = (0..1_000).map(|_| failing.fail()).collect();
    for ticket in &tickets {
        ticket.outcome().unwrap().unwrap_err();
    }
    assert_eq!(failing.reported(), (0, 0));
    let tickets: Vec<Ticket> = (0..1_000).map(|_| failing.fail()).collect();
    for ticket in &tickets[..850] {
        ticket.outcome().unwrap().unwrap_err();
    }
    assert_eq!(failing.reported(), (100, 50));
}

#[test]
fn batches_without_an_outcome_at_the_end_are_failures_unless_a_caller_gave_them_up() {
    for is_given_up in [false, true] {
        let failing = Failing::new();
        failing.fail();
        let _ = (failing.open(), failing.open());
        if is_given_up {
            assert_eq!(failing.undelivered.give_up(), 2);
        }
        failing.undelivered.close_all();
        assert_eq!(failing.undelivered.records(), if is_given_up { 2 } else { 0 });
        assert_eq!(failing.reported(), (if is_given_up { 1 } else { 3 }, 0));
    }
}

#[test]
fn nothing_that_fails_after_it_was_given_up_is_reported() {
    let failing = Failing::new();
    let _ = failing.open();
    assert_eq!(failing.undelivered.give_up(), 1);
    drop(failing.fail());
    assert_eq!(failing.reported(), (0, 0));
    assert_eq!([0, 1].map(|below| failing.undelivered.was_given_up_below(below)), [false, true]);
}

#[test]
fn failures_whose_tickets_are_dropped_are_counted_and_not_kept() {
    let failing = Failing::new();
    for _ in 0..10_000 {
        drop(failing.fail());
    }
    assert!(failing.undelivered.kept_failures() <= 2 * LISTED_MAX);
    assert_eq!(failing.reported(), (100, 9_900));
}
