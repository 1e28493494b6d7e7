//! Tests of the rules by which a flush is due.

use std::time::Duration;

use super::flush_queue::{Ending, FlushQueue, Job, Next, SYNC_TOGETHER_FROM};
use crate::types::{PartitionIndex, TopicPartition};

const BUDGET: u64 = 1_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn partition(index: i32) -> TopicPartition {
    TopicPartition { topic: "web".parse().unwrap(), partition: PartitionIndex(index) }
}

fn queue() -> FlushQueue<i32> {
    FlushQueue::new(BUDGET)
}

fn schedule(queue: &mut FlushQueue<i32>, index: i32, bytes: u64, due: u64) {
    queue.schedule(&partition(index), &index, bytes, ms(due));
}

/// The logs taken; there must be at least one.
fn take(queue: &mut FlushQueue<i32>, now: u64) -> Vec<Job<i32>> {
    match queue.next(ms(now)) {
        Next::Flush(jobs) => jobs,
        other => panic!("nothing due: {other:?}"),
    }
}

fn waits_until(queue: &mut FlushQueue<i32>, now: u64) -> Option<Duration> {
    match queue.next(ms(now)) {
        Next::WaitUntil(due) => Some(due),
        Next::Wait => None,
        Next::Flush(jobs) => panic!("{jobs:?} are due"),
    }
}

#[test]
fn without_unflushed_records_nothing_wakes_the_flusher() {
    let mut queue = queue();
    assert_eq!(waits_until(&mut queue, 0), None);
    schedule(&mut queue, 0, 10, 0);
    let jobs = take(&mut queue, 0);
    assert_eq!(waits_until(&mut queue, 0), None, "while it is being flushed");
    queue.finish(&jobs[0], Ending::Flushed);
    assert_eq!(waits_until(&mut queue, 1_000), None);
    assert_eq!(queue.unflushed_bytes(), 0);
}

#[test]
fn a_log_is_due_at_the_earliest_moment_noted() {
    let mut queue = queue();
    schedule(&mut queue, 0, 10, 50);
    schedule(&mut queue, 0, 20, 70);
    assert_eq!(waits_until(&mut queue, 10), Some(ms(50)));
    schedule(&mut queue, 0, 30, 10);
    let jobs = take(&mut queue, 10);
    assert_eq!((jobs.len(), jobs[0].bytes), (1, 30), "one flush for all of it");
    assert_eq!(waits_until(&mut queue, 10), None);
}

#[test]
fn what_is_appended_during_a_flush_waits_for_the_next() {
    let mut queue = queue();
    schedule(&mut queue, 0, 10, 0);
    let jobs = take(&mut queue, 0);
    schedule(&mut queue, 0, 7, 1);
    assert_eq!(waits_until(&mut queue, 1), None, "a log is never flushed twice at a time");
    assert_eq!(queue.unflushed_bytes(), 17);
    queue.finish(&jobs[0], Ending::Flushed);
    assert_eq!(queue.unflushed_bytes(), 7);
    assert_eq!(take(&mut queue, 1)[0].bytes, 7);
}

#[test]
fn few_logs_are_taken_one_by_one_and_many_together() {
    let mut queue = FlushQueue::new(1 << 30);
    let few = i32::try_from(SYNC_TOGETHER_FROM).unwrap() - 1;
    for index in 0..few {
        schedule(&mut queue, index, 10, 0);
    }
    assert_eq!(take(&mut queue, 0).len(), 1);
    assert!(queue.has_due(ms(0)), "for the other threads");
    for index in few..few + 2 {
        schedule(&mut queue, index, 10, 0);
    }
    schedule(&mut queue, 99, 10, 1);
    assert_eq!(take(&mut queue, 0).len(), SYNC_TOGETHER_FROM);
    assert_eq!(waits_until(&mut queue, 0), Some(ms(1)), "what is not due waits");
}

#[test]
fn at_half_the_budget_everything_is_due_and_beyond_it_producers_wait() {
    let mut queue = queue();
    schedule(&mut queue, 0, BUDGET / 2, u64::MAX);
    assert_eq!(waits_until(&mut queue, 0), Some(ms(u64::MAX)));
    schedule(&mut queue, 0, BUDGET / 2 + 1, u64::MAX);
    assert_eq!(queue.earliest(), Some(ms(0)));
    assert!(!queue.is_over_budget());
    let jobs = take(&mut queue, 0);
    schedule(&mut queue, 0, BUDGET / 2, u64::MAX);
    assert!(queue.is_over_budget(), "bytes being flushed count");
    queue.finish(&jobs[0], Ending::Flushed);
    assert!(!queue.is_over_budget());
}

#[test]
fn a_log_that_failed_is_never_flushed_again() {
    let mut queue = queue();
    schedule(&mut queue, 0, 10, 0);
    let jobs = take(&mut queue, 0);
    schedule(&mut queue, 0, 10, 0);
    queue.finish(&jobs[0], Ending::Failed);
    schedule(&mut queue, 0, 10, 0);
    assert_eq!(waits_until(&mut queue, 1_000), None);
    assert_eq!(queue.unflushed_bytes(), 0, "it does not block the producers of other logs");
    assert_eq!(queue.failed().collect::<Vec<_>>(), [&partition(0)]);
}

#[test]
fn a_flush_of_a_removed_log_does_not_count_for_its_successor() {
    let mut queue = queue();
    schedule(&mut queue, 0, 10, 0);
    let old = take(&mut queue, 0);
    queue.forget(&partition(0));
    assert_eq!(queue.unflushed_bytes(), 0);
    schedule(&mut queue, 0, 10, 0);
    queue.finish(&old[0], Ending::Flushed);
    assert_eq!(queue.unflushed_bytes(), 10);
    assert_eq!(take(&mut queue, 0)[0].bytes, 10);
}
