//! Tests of retention on a single log.

use std::io::ErrorKind;
use std::time::Duration;

use crate::config::ByteSize;
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::storage::world_tests::{
    EPOCH, NOW, World, append, append_batch, batch, bytes_of, texts, values,
};
use crate::storage::{
    AppendAt, CleanupPolicy, Log, ReadLimit, RetentionClock, StartPoint, StorageError,
};
use crate::types::{Offset, Timestamp};

const WEEK: Duration = Duration::from_hours(7 * 24);
const HOUR: Duration = Duration::from_hours(1);

/// A log of one batch per segment, flushed.
fn log_of(world: &World, values: &[&str]) -> Log {
    let log = world.start();
    for value in values {
        append(&log, &[value]);
    }
    log.flush().unwrap();
    log
}

/// Appends a record with this timestamp while the clocks show `now`.
fn append_timed(log: &Log, time: Timestamp, now: Timestamp) {
    let mut builder = BatchBuilder::new();
    builder.push(time, None, Some(b"x"), &[]).unwrap();
    let batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    append_batch(log, batch, AppendAt { epoch: EPOCH, now }).unwrap();
}

#[test]
fn a_segment_is_removed_when_its_records_and_its_last_append_are_old() {
    let world = World::with_segments_of(1);
    let log = world.start();
    let later = NOW.plus(HOUR);
    append_timed(&log, NOW.minus(WEEK), NOW);
    append_timed(&log, NOW, NOW);
    append_timed(&log, NOW.plus(WEEK), later);
    append_timed(&log, later, later);
    log.flush().unwrap();
    let end = log.log_end_offset();
    let delete = |now| log.retention().delete_expired(now, end).unwrap().segments;
    assert_eq!(delete(NOW.plus(Duration::from_millis(1))), 0, "old times, just appended");
    assert_eq!(delete(NOW.plus(WEEK).plus(Duration::from_millis(1))), 1);
    assert_eq!(delete(later.plus(WEEK).plus(Duration::from_millis(1))), 1);
    assert_eq!(log.log_start_offset(), Offset::new(2), "the third has a time in the future");
    let long_after = later.plus(WEEK).plus(WEEK);
    assert_eq!(delete(long_after), 2, "the active segment too");
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (end, end));
    assert_eq!(append(&log, &["new"]).base_offset, end);
}

#[test]
fn the_history_of_epochs_begins_with_the_log_also_if_it_was_not_read_since_the_start() {
    let world = World::with_segments_of(1);
    let log = log_of(&world, &["a", "b", "c"]);
    let marks = log.close().unwrap();
    drop(log);
    let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
    let log = world.open(start);
    log.retention().delete_oldest(marks.durable).unwrap();
    let first = log.epochs().entries().unwrap()[0];
    assert_eq!((first.start, log.log_start_offset()), (Offset::new(1), Offset::new(1)));
}

#[test]
fn old_records_loaded_late_are_kept_unless_retention_uses_their_timestamps() {
    let last_month = NOW.minus(WEEK * 4);
    for (clock, segments) in [(RetentionClock::Broker, 0), (RetentionClock::Record, 2)] {
        let mut world = World::with_segments_of(1);
        world.config.retention_clock = clock;
        let log = world.start();
        append_timed(&log, last_month, NOW);
        append_timed(&log, last_month, NOW);
        append_timed(&log, NOW, NOW);
        log.flush().unwrap();
        let below = log.log_end_offset();
        assert_eq!(
            log.retention().expired(NOW, below).unwrap().segments,
            segments,
            "{clock}, as estimated"
        );
        assert_eq!(
            log.retention().delete_expired(NOW, below).unwrap().segments,
            segments,
            "{clock}"
        );
    }
}

#[test]
fn a_segment_without_timestamps_ages_by_the_time_of_its_last_append() {
    let mut world = World::with_segments_of(1);
    world.config.retention_clock = RetentionClock::Record;
    let log = world.start();
    append_timed(&log, Timestamp::NONE, NOW);
    append_timed(&log, NOW.plus(WEEK), NOW);
    log.flush().unwrap();
    let below = log.log_end_offset();
    assert_eq!(log.retention().delete_expired(NOW.plus(HOUR), below).unwrap().segments, 0);
    let week_after = NOW.plus(WEEK).plus(HOUR);
    assert_eq!(log.retention().delete_expired(week_after, below).unwrap().segments, 1);
}

#[test]
fn the_oldest_segments_are_removed_while_the_log_is_too_large() {
    let size = batch(&["a"]).len() as u64;
    let mut world = World::with_segments_of(1);
    world.config.retention_size = Some(ByteSize(size * 2));
    let log = log_of(&world, &["a", "b", "c", "d"]);
    let removed = log.retention().delete_expired(NOW, Offset::new(1)).unwrap();
    assert_eq!(removed.segments, 1, "nothing above the high watermark goes");
    let removed = log.retention().delete_expired(NOW, Offset::new(4)).unwrap();
    assert_eq!((removed.segments, removed.bytes), (1, size));
    assert_eq!(texts(&values(&log, 2, 4)), ["c", "d"]);
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(4),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    assert!(matches!(
        log.read(Offset::new(1), limit),
        Err(StorageError::OffsetOutOfRange { start, .. }) if start == Offset::new(2)
    ));
}

#[test]
fn nothing_is_removed_from_a_log_with_unlimited_retention_or_compaction() {
    for policy in ["delete", "compact", ""] {
        let mut world = World::with_segments_of(1);
        world.config.cleanup_policy = policy.parse::<CleanupPolicy>().unwrap();
        if policy == "delete" {
            world.config.retention = None;
        } else {
            world.config.retention_size = Some(ByteSize(1));
        }
        let log = log_of(&world, &["a", "b"]);
        let centuries = NOW.plus(WEEK * 10_000);
        assert_eq!(log.retention().delete_expired(centuries, Offset::new(2)).unwrap().segments, 0);
    }
}

#[test]
fn records_below_the_log_start_are_not_read_and_are_removed_by_segment() {
    let world = World::with_segments_of(1);
    let log = world.start();
    append(&log, &["a"]);
    append(&log, &["b", "c"]);
    append(&log, &["d"]);
    assert_eq!(log.retention().advance_log_start(Offset::new(2)).unwrap(), Offset::new(2));
    assert_eq!(log.flushed_offset(), Offset::new(4), "all records below the log start are durable");
    assert_eq!(log.retention().advance_log_start(Offset::new(1)).unwrap(), Offset::new(2));
    assert!(log.retention().advance_log_start(Offset::new(5)).is_err());
    assert_eq!(log.retention().delete_expired(NOW, Offset::new(4)).unwrap().segments, 1);
    assert_eq!(world.segments(), [1, 3]);
    assert_eq!(texts(&values(&log, 2, 4)), ["b", "c", "d"], "batches are read whole");
}

#[test]
fn requested_deletion_removes_only_the_requested_segments() {
    let mut world = World::with_segments_of(1);
    world.config.retention_size = Some(ByteSize(1));
    let log = log_of(&world, &["a", "b", "c", "d"]);
    world.clock.set_wall(NOW.plus(WEEK * 2));
    log.retention().advance_log_start(Offset::new(2)).unwrap();
    assert_eq!(
        log.retention().delete_before_start(Offset::new(1)).unwrap().segments,
        1,
        "only up to the high watermark"
    );
    assert_eq!(log.retention().delete_before_start(Offset::new(4)).unwrap().segments, 1);
    assert_eq!(world.segments(), [2, 3]);
}

#[test]
fn readers_of_a_deleted_segment_can_use_it_until_its_files_are_due() {
    let world = World::with_segments_of(1);
    let log = log_of(&world, &["a", "b"]);
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(2),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let range = log.read(Offset::ZERO, limit).unwrap().unwrap();
    let before = bytes_of(&range);
    log.retention().advance_log_start(Offset::new(1)).unwrap();
    log.retention().delete_expired(NOW, Offset::new(2)).unwrap();
    let deleted =
        |world: &World| world.names("/data/t-0").iter().any(|name| name.ends_with(".deleted"));
    assert!(deleted(&world));
    let delay = world.config.file_delete_delay;
    log.retention().remove_deleted(delay.saturating_sub(Duration::from_millis(1))).unwrap();
    assert!(deleted(&world));
    assert_eq!(bytes_of(&range), before);
    log.retention().remove_deleted(delay).unwrap();
    assert!(!deleted(&world));
    let refused = range.file.read_at(&mut [0], range.position).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound, "an open file would keep its space");
}

#[test]
fn the_age_of_a_segment_is_known_after_a_restart() {
    let world = World::with_segments_of(1);
    let log = log_of(&world, &["a", "b"]);
    log.close().unwrap();
    world.clock.advance(WEEK + HOUR);
    let start =
        crate::storage::StartPoint::Clean { log_start: Offset::ZERO, log_end: Offset::new(2) };
    let log = world.open(start);
    let now = NOW.plus(WEEK + HOUR);
    assert_eq!(log.retention().delete_expired(now, Offset::new(2)).unwrap().segments, 1);
    assert_eq!(log.log_start_offset(), Offset::new(1), "the active one counts from the restart");
}
