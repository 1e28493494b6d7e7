//! Facts about when a flush is due.

use std::time::Duration;

use super::agenda::{Agenda, Ending, FlushRule, Job, Next, TOGETHER_FROM, Unflushed};
use crate::types::{PartitionIndex, TopicPartition};

const RULE: FlushRule =
    FlushRule { records: 100, interval: Duration::from_millis(50), on_demand: true };
const QUIET: Unflushed = Unflushed { bytes: 10, records: 1, awaited: false };
const AWAITED: Unflushed = Unflushed { awaited: true, ..QUIET };
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

fn append(agenda: &mut Agenda<i32>, index: i32, what: Unflushed, now: u64) {
    agenda.appended(&partition(index), &index, (what, RULE), ms(now));
}

/// The logs taken, which must be some.
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
    append(&mut agenda, 0, AWAITED, 0);
    let jobs = take(&mut agenda, 0);
    assert_eq!(waits_until(&mut agenda, 0), None, "while it is being flushed");
    agenda.finish(&jobs[0], Ending::Flushed);
    assert_eq!(waits_until(&mut agenda, 1_000), None);
    assert_eq!(agenda.unflushed_bytes(), 0);
}

#[test]
fn awaited_records_are_due_at_once() {
    let mut agenda = agenda();
    append(&mut agenda, 0, QUIET, 0);
    assert_eq!(waits_until(&mut agenda, 10), Some(ms(50)));
    append(&mut agenda, 0, AWAITED, 10);
    let jobs = take(&mut agenda, 10);
    assert_eq!((jobs.len(), jobs[0].bytes), (1, 20), "one flush for both");
}

#[test]
fn a_fetch_that_parks_makes_its_log_due() {
    let mut agenda = agenda();
    agenda.demand(&partition(0), ms(0));
    append(&mut agenda, 0, QUIET, 0);
    agenda.demand(&partition(0), ms(5));
    assert_eq!(take(&mut agenda, 5).len(), 1);
}

#[test]
fn records_nobody_awaits_are_due_by_age_or_number() {
    let mut agenda = agenda();
    append(&mut agenda, 0, QUIET, 7);
    append(&mut agenda, 0, QUIET, 40);
    assert_eq!(waits_until(&mut agenda, 56), Some(ms(57)), "the age of the oldest");
    assert_eq!(take(&mut agenda, 57).len(), 1);

    append(&mut agenda, 1, Unflushed { records: 99, ..QUIET }, 60);
    assert_eq!(waits_until(&mut agenda, 60), Some(ms(110)));
    append(&mut agenda, 1, QUIET, 61);
    assert_eq!(take(&mut agenda, 61)[0].log, 1);
}

#[test]
fn without_on_demand_the_policy_alone_decides() {
    let rule = FlushRule { on_demand: false, ..RULE };
    let mut agenda = agenda();
    agenda.appended(&partition(0), &0, (AWAITED, rule), ms(0));
    assert_eq!(waits_until(&mut agenda, 0), Some(ms(50)));
}

#[test]
fn what_is_appended_during_a_flush_waits_for_the_next() {
    let mut agenda = agenda();
    append(&mut agenda, 0, AWAITED, 0);
    let jobs = take(&mut agenda, 0);
    append(&mut agenda, 0, AWAITED, 1);
    assert_eq!(waits_until(&mut agenda, 1), None, "a log is never flushed twice at a time");
    assert_eq!(agenda.unflushed_bytes(), 20);
    agenda.finish(&jobs[0], Ending::Flushed);
    assert_eq!(agenda.unflushed_bytes(), 10);
    assert_eq!(take(&mut agenda, 1)[0].bytes, 10);
}

#[test]
fn few_logs_are_taken_one_by_one_and_many_together() {
    let mut agenda = Agenda::new(1 << 30);
    for index in 0..32 {
        agenda.appended(&partition(index), &index, (AWAITED, RULE), ms(0));
    }
    assert_eq!(take(&mut agenda, 0).len(), 1);
    assert!(agenda.has_due(ms(0)), "for the other threads");
    for index in 32..64 {
        agenda.appended(&partition(index), &index, (AWAITED, RULE), ms(0));
    }
    assert!(TOGETHER_FROM <= 63);
    assert_eq!(take(&mut agenda, 0).len(), 63);
    assert!(!agenda.has_due(ms(0)));
}

#[test]
fn at_half_the_budget_everything_is_due_and_beyond_it_producers_wait() {
    let rule = FlushRule { records: u64::MAX, interval: Duration::MAX, on_demand: false };
    let mut agenda = agenda();
    let mut append = |agenda: &mut Agenda<i32>, bytes| {
        let what = Unflushed { bytes, ..QUIET };
        agenda.appended(&partition(0), &0, (what, rule), ms(0));
    };
    append(&mut agenda, BUDGET / 2);
    assert_eq!(waits_until(&mut agenda, 0), Some(Duration::MAX));
    append(&mut agenda, 1);
    assert!(!agenda.is_over_budget());
    let jobs = take(&mut agenda, 0);
    append(&mut agenda, BUDGET / 2);
    assert!(agenda.is_over_budget(), "bytes being flushed count");
    agenda.finish(&jobs[0], Ending::Flushed);
    assert!(!agenda.is_over_budget());
}

#[test]
fn a_log_that_failed_is_never_flushed_again() {
    let mut agenda = agenda();
    append(&mut agenda, 0, AWAITED, 0);
    let jobs = take(&mut agenda, 0);
    append(&mut agenda, 0, AWAITED, 0);
    agenda.finish(&jobs[0], Ending::Failed);
    append(&mut agenda, 0, AWAITED, 0);
    assert_eq!(waits_until(&mut agenda, 1_000), None);
    assert_eq!(agenda.unflushed_bytes(), 0, "it blocks nobody else's producers");
    assert_eq!(agenda.failed().collect::<Vec<_>>(), [&partition(0)]);
}

#[test]
fn a_flush_of_a_log_that_went_away_does_not_count_for_its_successor() {
    let mut agenda = agenda();
    append(&mut agenda, 0, AWAITED, 0);
    let old = take(&mut agenda, 0);
    agenda.forget(&partition(0));
    assert_eq!(agenda.unflushed_bytes(), 0);
    append(&mut agenda, 0, AWAITED, 0);
    agenda.finish(&old[0], Ending::Flushed);
    assert_eq!(agenda.unflushed_bytes(), 10);
    assert_eq!(take(&mut agenda, 0)[0].bytes, 10);
}
