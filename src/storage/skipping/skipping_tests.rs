//! Tests of skipping damage.

use std::ops::Range;
use std::path::Path;

use crate::io::Disk;
use crate::io::faulty::{Failure, Fault, Operation};
use crate::storage::world_tests::{
    NOW, World, append_at, at, batch, crashed_rebuilding, file, texts, try_values, values,
};
use crate::storage::{
    AppendAt, CheckpointOffsets, Damage, Log, LogDamage, SkipError, SkippedStretch, StartPoint,
    StorageError,
};
use crate::types::{LeaderEpoch, Offset};

const LATER: AppendAt = AppendAt { epoch: LeaderEpoch(9), now: NOW };

fn size() -> u64 {
    batch(&["a"]).len() as u64
}

/// A log of the batches a, b, c, d, e after a crash, with damage in the batches of these numbers.
fn damaged(world: &World, numbers: &[u64]) -> (Log, CheckpointOffsets) {
    let log = world.start();
    for value in ["a", "b", "c", "d", "e"] {
        append_at(&log, &[value], at()).unwrap();
    }
    log.flush().unwrap();
    let marks = log.checkpoints().offsets();
    drop(log);
    for number in numbers {
        let position = number * size() + 65;
        let byte = world.bytes(&file(0, "log"))[usize::try_from(position).unwrap()];
        world.overwrite(&file(0, "log"), Some(position), &[byte ^ 4]);
    }
    (world.open(crashed_rebuilding(marks, false)), marks)
}

fn offsets(from: i64, to: i64) -> Range<Offset> {
    Offset::new(from)..Offset::new(to)
}

fn skip(log: &Log, from: i64, to: i64) -> Result<Vec<SkippedStretch>, SkipError> {
    LogDamage::of(log).skip(offsets(from, to), |_| Ok(()))
}

#[test]
fn readers_continue_after_skipped_damage_and_its_bytes_are_copied() {
    let world = World::new();
    let (log, marks) = damaged(&world, &[1, 3]);
    assert!(try_values(&log, 1, 5).is_err());
    let before = world.bytes(&file(0, "log"));

    let skipped = skip(&log, 0, 3).unwrap();
    let [stretch] = skipped.as_slice() else { panic!("{skipped:?}") };
    let (start, end) = (size(), size() * 2);
    let [first, next] = [1, 2].map(Offset::new);
    assert_eq!(stretch.damage, Damage { segment: Offset::ZERO, start, end, first, next });
    let copy = stretch.copy.as_ref().unwrap();
    assert_eq!(
        copy,
        Path::new(&format!("/data/quarantine/skipped/t-0/0.{start}-{end}.1700000000000"))
    );
    let [start, end] = [start, end].map(|at| usize::try_from(at).unwrap());
    assert_eq!(world.bytes(copy), before[start..end]);

    let goes_on = |log: &Log| {
        assert_eq!(texts(&values(log, 0, 3)), ["a", "c"], "the batches around it stay readable");
        assert_eq!(texts(&values(log, 1, 3)), ["c"], "also from within it");
        assert!(try_values(log, 3, 5).is_err(), "the other stretch is not skipped");
    };
    goes_on(&log);
    goes_on(&world.open(crashed_rebuilding(marks, true)));
    let (log_start, log_end) = (marks.log_start, marks.durable);
    log.close().unwrap();
    let log = world.open(StartPoint::Clean { log_start, log_end });
    goes_on(&log);
    let stretches = LogDamage::of(&log).stretches().unwrap();
    let known: Vec<_> = stretches.iter().map(|s| (s.damage.first.get(), s.is_skipped)).collect();
    assert_eq!(known, [(1, true), (3, false)]);
    assert_eq!(stretches[0].path, file(0, "log"));
}

#[test]
fn only_whole_stretches_of_known_damage_are_skipped() {
    let world = World::new();
    // The two damaged batches form one stretch.
    let (log, _) = damaged(&world, &[1, 2]);
    assert!(matches!(skip(&log, 3, 3), Err(SkipError::EmptyRange { .. })));
    let refused = skip(&log, 3, 5).unwrap_err();
    assert!(matches!(&refused, SkipError::NoDamage { damaged, .. } if damaged.len() == 1));
    let text = refused.to_string();
    assert!(
        text.contains("offsets 3 to 5 of t-0") && text.ends_with("damaged are 1 to 3"),
        "{text}"
    );
    for (from, to) in [(0, 2), (2, 3), (2, 5)] {
        let refused = skip(&log, from, to).unwrap_err();
        let (first, next) = (Offset::new(1), Offset::new(3));
        let SkipError::CutsThrough { first: start, next: end, .. } = &refused else {
            panic!("{from} to {to}: {refused}");
        };
        assert_eq!((*start, *end), (first, next));
    }
    assert!(try_values(&log, 1, 5).is_err());
    skip(&log, 1, 3).unwrap();
    assert_eq!(texts(&values(&log, 0, 5)), ["a", "d", "e"]);
    let again = skip(&log, 1, 3).unwrap_err();
    assert!(again.to_string().ends_with("the log has none"), "{again}");
}

#[test]
fn a_log_that_ends_in_damage_accepts_records_once_it_is_skipped() {
    for is_lost in [false, true] {
        let world = World::new();
        let (log, marks) = damaged(&world, &[4]);
        assert!(matches!(log.start_epoch(LATER.epoch), Err(StorageError::Corrupt { .. })));
        skip(&log, 4, 5).unwrap();
        assert!(try_values(&log, 0, 5).is_ok());
        // A crash may lose the segment begun after the damage, but not the skip.
        let log = if is_lost { world.open(crashed_rebuilding(marks, false)) } else { log };
        log.start_epoch(LATER.epoch).unwrap();
        assert_eq!(append_at(&log, &["f"], LATER).unwrap().base_offset, Offset::new(5));
        log.flush().unwrap();
        let marks = log.close().unwrap();
        let (log_start, log_end) = (marks.log_start, marks.durable);
        let clean = StartPoint::Clean { log_start, log_end };
        for log in [world.open(crashed_rebuilding(marks, false)), world.open(clean)] {
            assert_eq!(texts(&values(&log, 0, 6)), ["a", "b", "c", "d", "f"]);
            assert_eq!(texts(&values(&log, 4, 6)), ["f"]);
        }
    }
}

#[test]
fn nothing_is_skipped_without_a_copy_and_a_record_of_it() {
    let world = World::new();
    let (log, _) = damaged(&world, &[1]);
    let refused = |outcome: Result<Vec<SkippedStretch>, SkipError>| {
        assert!(matches!(outcome, Err(SkipError::Storage(_))), "{outcome:?}");
        assert!(try_values(&log, 1, 5).is_err());
    };
    for (operation, suffix) in [
        (Operation::CreateDir, "t-0"),
        (Operation::Write, ".1700000000000"),
        (Operation::SyncData, ".1700000000000"),
        (Operation::Write, "skipped.tmp"),
        (Operation::Rename, "skipped"),
    ] {
        world.disk.inject(Fault::new(operation, Failure::NoSpace).on(suffix));
        refused(skip(&log, 1, 2));
        world.clock.advance(std::time::Duration::from_millis(1));
        world.clock.set_wall(NOW);
        let dir = Path::new("/data/quarantine/skipped/t-0");
        for copy in world.disk.list(dir).unwrap_or_default() {
            let path = dir.join(copy.name);
            assert_eq!(world.bytes(&path).len() as u64, size(), "{operation:?}: half a copy");
            world.disk.remove_file(&path).unwrap();
        }
    }
    let unwritten = || StorageError::Closed { partition: log.partition().clone() };
    refused(LogDamage::of(&log).skip(offsets(1, 2), |stretches| {
        assert_eq!(stretches.len(), 1);
        Err(unwritten())
    }));
}

#[test]
fn unreadable_bytes_can_be_skipped_too() {
    let world = World::new();
    let (log, _) = damaged(&world, &[1]);
    let fault = Fault::new(Operation::ReadMedium, Failure::InputOutput);
    world.disk.inject(fault.on(".log").for_ever());
    let skipped = skip(&log, 1, 2).unwrap();
    assert_eq!(skipped[0].unreadable, size());
    let copy = world.bytes(skipped[0].copy.as_ref().unwrap());
    assert_eq!(copy, vec![0; usize::try_from(size()).unwrap()]);
    assert_eq!(texts(&values(&log, 1, 3)), ["c"]);
}

#[test]
fn records_appended_after_a_truncation_are_not_skipped() {
    let world = World::new();
    let (log, marks) = damaged(&world, &[1]);
    skip(&log, 1, 2).unwrap();
    log.start_epoch(LATER.epoch).unwrap();
    log.truncator().cut(Offset::new(1)).unwrap();
    assert!(!world.disk.exists(Path::new("/data/t-0/skipped")).unwrap());
    drop((log, marks));
}

#[test]
fn lookups_by_timestamp_and_retention_pass_over_skipped_damage() {
    let world = World::with_segments_of(size() * 2);
    let (log, _) = damaged(&world, &[0]);
    skip(&log, 0, 1).unwrap();
    let found = log.lookups().offset_for_timestamp(NOW).unwrap().map(|record| record.offset.get());
    assert_eq!(found, Some(1));
    log.retention().advance_log_start(Offset::new(2)).unwrap();
    assert_eq!(log.retention().delete_before_start(Offset::new(5)).unwrap().segments, 1);
    assert!(LogDamage::of(&log).stretches().unwrap().is_empty());
    assert_eq!(texts(&values(&log, 2, 5)), ["c", "d", "e"]);
}
