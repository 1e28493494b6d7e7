//! Tests of the order in which the scrubber checks logs.

use std::path::Path;
use std::time::Duration;

use crate::io::MemoryDisk;
use crate::storage::directory::SCRUB_CHECKPOINT;
use crate::storage::upkeep::scrub::rounds::{Rounds, Step};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

const WEEK: Duration = Duration::from_hours(7 * 24);
const HOUR: Duration = Duration::from_hours(1);
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn partitions(numbers: &[i32]) -> Vec<TopicPartition> {
    let partition = |number: &i32| TopicPartition {
        topic: "t".parse().unwrap(),
        partition: PartitionIndex(*number),
    };
    numbers.iter().map(partition).collect()
}

fn check(number: i32, from: i64) -> Step {
    let partition = partitions(&[number]).remove(0);
    Step::Check { partition, from: Offset::new(from) }
}

/// Checks the log that is due at `now` completely, and returns it.
fn look(rounds: &mut Rounds, all: &[TopicPartition], now: Timestamp) -> Option<i32> {
    rounds.match_with(all, now);
    let Step::Check { partition, .. } = rounds.next(WEEK, now) else { return None };
    rounds.checked(&partition, None);
    Some(partition.partition.0)
}

#[test]
fn every_log_is_checked_once_in_an_interval_the_least_recent_first() {
    let all = partitions(&[0, 1, 2]);
    let mut rounds = Rounds::default();
    let mut looked = Vec::new();
    for hour in 0..=3 * 7 * 24 {
        let now = START.plus(HOUR * hour);
        // One log is checked each hour.
        looked.extend(look(&mut rounds, &all, now).map(|number| (hour, number)));
    }
    let week = 7 * 24;
    let expected = [0, week, 2 * week].map(|at| [(at, 0), (at + 1, 1), (at + 2, 2)]).concat();
    let expected: Vec<_> = expected.into_iter().chain([(3 * week, 0)]).collect();
    assert_eq!(looked, expected);
}

#[test]
fn a_round_continues_where_it_was_also_after_a_restart() {
    let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
    let all = partitions(&[0, 1]);
    let mut rounds = Rounds::load(&disk, dir).unwrap();
    rounds.match_with(&all, START);
    assert_eq!(rounds.next(WEEK, START), check(0, 0));
    rounds.checked(&all[0], None);
    assert_eq!(rounds.next(WEEK, START), check(1, 0));
    rounds.checked(&all[1], Some(Offset::new(700)));
    rounds.store(&disk, dir).unwrap();

    let mut rounds = Rounds::load(&disk, dir).unwrap();
    let later = START.plus(HOUR);
    rounds.match_with(&all, later);
    assert_eq!(rounds.next(WEEK, later), check(1, 700));
    rounds.checked(&all[1], None);
    assert_eq!(rounds.next(WEEK, later), Step::Wait(WEEK.saturating_sub(HOUR)));
}

#[test]
fn removed_logs_are_dropped_and_new_logs_are_checked_first() {
    let mut rounds = Rounds::default();
    let two = partitions(&[0, 1]);
    assert_eq!(look(&mut rounds, &two, START), Some(0));
    assert_eq!(look(&mut rounds, &partitions(&[0]), START), None, "the other is gone");
    let later = START.plus(WEEK);
    assert_eq!(look(&mut rounds, &partitions(&[0, 7]), later), Some(7));
    assert_eq!(look(&mut rounds, &partitions(&[0, 7]), later), Some(0));
    rounds.match_with(&[], later);
    assert_eq!(rounds.next(WEEK, later), Step::Wait(WEEK));
}

#[test]
fn a_round_from_the_future_delays_the_next_by_an_interval_at_most() {
    let all = partitions(&[0]);
    let mut rounds = Rounds::default();
    assert_eq!(look(&mut rounds, &all, START.plus(WEEK * 50)), Some(0));
    rounds.match_with(&all, START);
    assert_eq!(rounds.next(WEEK, START), Step::Wait(WEEK));
    assert_eq!(look(&mut rounds, &all, START.plus(WEEK)), Some(0));
}

#[test]
fn without_a_sound_file_everything_is_due() {
    let (disk, dir) = (MemoryDisk::default(), Path::new("/"));
    let all = partitions(&[0]);
    let mut rounds = Rounds::load(&disk, dir).unwrap();
    assert_eq!(look(&mut rounds, &all, START), Some(0));
    rounds.store(&disk, dir).unwrap();
    let path = dir.join(SCRUB_CHECKPOINT);
    let mut bytes = crate::storage::small_file::read(&disk, &path).unwrap().unwrap();
    bytes[5] ^= 1;
    crate::storage::small_file::write_new(&disk, &path, &bytes).unwrap();
    assert_eq!(look(&mut Rounds::load(&disk, dir).unwrap(), &all, START), Some(0));
}
