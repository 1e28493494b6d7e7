//! Tests of the rules by which a flush is due.

use std::time::Duration;

use super::agenda::{Agenda, Ending, Job, Next, TOGETHER_FROM};
use crate::types::{PartitionIndex, TopicPartition};

const BUDGET: u64 = 1_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn partition(index: i32) -> TopicPartition {
    TopicPartition { topic: "web".parse().unwrap(), partition: PartitionIndex(index) }
}

fn agenda() -> Agenda<i32> {
    Agenda::new(BUDGET)
}

fn schedule(agenda: &mut Agenda<i32>, index: i32, bytes: u64, due: u64) {
    agenda.schedule(&partition(index), &index, bytes, ms(due));
}

/// The logs taken; there must be at least one.
fn take(agenda: &mut Agenda<i32>, now: u64) -> Vec<Job<i32>> {
    match agenda.next(ms(now)) {
        Next::Flush(jobs) => jobs,
        other => panic!("nothing due: {other:?}"),
    }
}

fn waits_until(agenda: &mut Agenda<i32>, now: u64) -> Option<Duration> {
    match agenda.next(ms(now)) {
        Next::WaitUntil(due) => Some(due),
        Next::Wait => None,
        Next::Flush(jobs) => panic!("{jobs:?} are due"),
    }
}

#[test]
fn nothing_unflushed_is_nothing_to_wake_for() {
    let mut agenda = agenda();
    assert_eq!(waits_until(&mut agenda, 0), None);
    schedule(&mut agenda, 0, 10, 0);
    let jobs = take(&mut agenda, 0);
    assert_eq!(waits_until(&mut agenda, 0), None, "while it is being flushed");
    agenda.finish(&jobs[0], Ending::Flushed);
    assert_eq!(waits_until(&mut agenda, 1_000), None);
    assert_eq!(agenda.unflushed_bytes(), 0);
}

#[test]
fn a_log_is_due_at_the_earliest_moment_noted() {
    let mut agenda = agenda();
    schedule(&mut agenda, 0, 10, 50);
    schedule(&mut agenda, 0, 20, 70);
    assert_eq!(waits_until(&mut agenda, 10), Some(ms(50)));
    schedule(&mut agenda, 0, 30, 10);
    let jobs = take(&mut agenda, 10);
    assert_eq!((jobs.len(), jobs[0].bytes), (1, 30), "one flush for all of it");
    assert_eq!(waits_until(&mut agenda, 10), None);
}

#[test]
fn what_is_appended_during_a_flush_waits_for_the_next() {
    let mut agenda = agenda();
    schedule(&mut agenda, 0, 10, 0);
    let jobs = take(&mut agenda, 0);
    schedule(&mut agenda, 0, 7, 1);
    assert_eq!(waits_until(&mut agenda, 1), None, "a log is never flushed twice at a time");
    assert_eq!(agenda.unflushed_bytes(), 17);
    agenda.finish(&jobs[0], Ending::Flushed);
    assert_eq!(agenda.unflushed_bytes(), 7);
    assert_eq!(take(&mut agenda, 1)[0].bytes, 7);
}

#[test]
fn few_logs_are_taken_one_by_one_and_many_together() {
    let mut agenda = Agenda::new(1 << 30);
    let few = i32::try_from(TOGETHER_FROM).unwrap() - 1;
    for index in 0..few {
        schedule(&mut agenda, index, 10, 0);
    }
    assert_eq!(take(&mut agenda, 0).len(), 1);
    assert!(agenda.has_due(ms(0)), "for the other threads");
    for index in few..few + 2 {
        schedule(&mut agenda, index, 10, 0);
    }
    schedule(&mut agenda, 99, 10, 1);
    assert_eq!(take(&mut agenda, 0).len(), TOGETHER_FROM);
    assert_eq!(waits_until(&mut agenda, 0), Some(ms(1)), "what is not due waits");
}

#[test]
fn at_half_the_budget_everything_is_due_and_beyond_it_producers_wait() {
    let mut agenda = agenda();
    schedule(&mut agenda, 0, BUDGET / 2, u64::MAX);
    assert_eq!(waits_until(&mut agenda, 0), Some(ms(u64::MAX)));
    schedule(&mut agenda, 0, BUDGET / 2 + 1, u64::MAX);
    assert_eq!(agenda.earliest(), Some(ms(0)));
    assert!(!agenda.is_over_budget());
    let jobs = take(&mut agenda, 0);
    schedule(&mut agenda, 0, BUDGET / 2, u64::MAX);
    assert!(agenda.is_over_budget(), "bytes being flushed count");
    agenda.finish(&jobs[0], Ending::Flushed);
    assert!(!agenda.is_over_budget());
}

#[test]
fn a_log_that_failed_is_never_flushed_again() {
    let mut agenda = agenda();
    schedule(&mut agenda, 0, 10, 0);
    let jobs = take(&mut agenda, 0);
    schedule(&mut agenda, 0, 10, 0);
    agenda.finish(&jobs[0], Ending::Failed);
    schedule(&mut agenda, 0, 10, 0);
    assert_eq!(waits_until(&mut agenda, 1_000), None);
    assert_eq!(agenda.unflushed_bytes(), 0, "it blocks nobody else's producers");
    assert_eq!(agenda.failed().collect::<Vec<_>>(), [&partition(0)]);
}

#[test]
fn a_flush_of_a_log_that_went_away_does_not_count_for_its_successor() {
    let mut agenda = agenda();
    schedule(&mut agenda, 0, 10, 0);
    let old = take(&mut agenda, 0);
    agenda.forget(&partition(0));
    assert_eq!(agenda.unflushed_bytes(), 0);
    schedule(&mut agenda, 0, 10, 0);
    agenda.finish(&old[0], Ending::Flushed);
    assert_eq!(agenda.unflushed_bytes(), 10);
    assert_eq!(take(&mut agenda, 0)[0].bytes, 10);
}
