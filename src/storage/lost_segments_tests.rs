//! Tests of logs that have lost segments.

use crate::io::{Disk, OpenMode};
use crate::storage::compacted::Compacted;
use crate::storage::world_tests::{
    NOW, World, append_at, at, batch, crashed_rebuilding, file, texts, try_values, values,
};
use crate::storage::{
    AppendAt, CheckpointOffsets, Damage, Log, LogDamage, StartPoint, StorageError,
};
use crate::types::{LeaderEpoch, Offset};

const LATER: AppendAt = AppendAt { epoch: LeaderEpoch(9), now: NOW };

fn size() -> u64 {
    batch(&["a"]).len() as u64
}

/// The recorded offsets of a log of the batches a to g, two in each segment, that was closed.
fn letters(world: &World) -> CheckpointOffsets {
    let log = world.start();
    for value in ["a", "b", "c", "d", "e", "f", "g"] {
        append_at(&log, &[value], at()).unwrap();
    }
    log.close().unwrap()
}

/// Removes the batches of a segment, durably.
fn lose(world: &World, base: i64) -> Vec<u8> {
    let path = file(base, "log");
    let bytes = world.bytes(&path);
    world.disk.remove_file(&path).unwrap();
    world.disk.sync_dir(path.parent().unwrap()).unwrap();
    bytes
}

/// The start points after a clean stop, after the end of the process, and after a power failure.
fn starts(marks: CheckpointOffsets) -> [StartPoint; 4] {
    let CheckpointOffsets { log_start, durable, rebuild } = marks;
    [
        StartPoint::Clean { log_start, log_end: durable },
        StartPoint::Unclean { log_start, durable, rebuild, same_boot: true },
        StartPoint::Unclean { log_start, durable, rebuild, same_boot: false },
        crashed_rebuilding(marks, false),
    ]
}

fn missing(segment: i64, position: u64, (first, next): (i64, i64)) -> Damage {
    let [segment, first, next] = [segment, first, next].map(Offset::new);
    Damage { segment, start: position, end: position, first, next }
}

fn is_refused(log: &Log, from: i64, bounds: (i64, i64)) {
    let refused = try_values(log, from, 8);
    assert!(
        matches!(&refused, Err(StorageError::Corrupt { first, next, .. })
            if (first.get(), next.get()) == bounds),
        "{from}: {refused:?}"
    );
}

/// The damage of a log, as an operator sees it.
fn listed(log: &Log) -> Vec<Damage> {
    let stretches = LogDamage::of(log).stretches().unwrap();
    stretches.into_iter().map(|stretch| stretch.damage).collect()
}

fn skip(log: &Log, from: i64, to: i64) {
    LogDamage::of(log).skip(Offset::new(from)..Offset::new(to), |_| Ok(())).unwrap();
}

#[test]
fn the_offsets_of_a_lost_first_segment_are_damaged_and_the_log_begins_where_it_began() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        let bytes = lose(&world, 0);
        for start in [number, 0, 1].map(|number| starts(marks)[number]) {
            let log = world.open(start);
            assert_eq!((log.log_start_offset(), log.log_end_offset().get()), (Offset::ZERO, 7));
            is_refused(&log, 0, (0, 2));
            is_refused(&log, 1, (0, 2));
            assert_eq!(texts(&values(&log, 2, 7)), ["c", "d", "e", "f", "g"]);
            assert_eq!(listed(&log), [missing(0, 0, (0, 2))], "{start:?}");
        }
        let log = world.open(starts(marks)[number]);
        skip(&log, 0, 2);
        assert_eq!(texts(&values(&log, 0, 7)), ["c", "d", "e", "f", "g"]);
        log.start_epoch(LATER.epoch).unwrap();
        assert_eq!(append_at(&log, &["h"], LATER).unwrap().base_offset.get(), 7);
        let marks = log.close().unwrap();
        world.overwrite(&file(0, "log"), Some(0), &bytes);
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), [], "the file is back");
        assert_eq!(values(&log, 0, 8).len(), 8);
    }
}

#[test]
fn the_epochs_of_lost_records_stay_in_the_history() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let log = world.start();
        for (index, value) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            let epoch = LeaderEpoch(3 + i32::try_from(index).unwrap());
            log.start_epoch(epoch).unwrap();
            append_at(&log, &[value], AppendAt { epoch, now: NOW }).unwrap();
        }
        let history = log.epochs().entries().unwrap();
        assert_eq!(history.len(), 5);
        let marks = log.close().unwrap();
        lose(&world, 0);
        for start in [number, 3] {
            let log = world.open(starts(marks)[start]);
            assert_eq!(log.epochs().entries().unwrap(), history);
            assert_eq!(texts(&values(&log, 2, 5)), ["c", "d", "e"]);
        }
    }
}

#[test]
fn a_log_that_has_lost_all_segments_ends_in_damage() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        let bytes = [0, 2, 4, 6].map(|base| (base, lose(&world, base)));
        for start in [number, 0, 1].map(|number| starts(marks)[number]) {
            let log = world.open(start);
            assert_eq!((log.log_start_offset(), log.log_end_offset().get()), (Offset::ZERO, 7));
            is_refused(&log, 0, (0, 7));
            assert_eq!(listed(&log), [missing(0, 0, (0, 7))], "{start:?}");
            let refused = append_at(&log, &["h"], at());
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
        }
        for (base, bytes) in &bytes {
            world.overwrite(&file(*base, "log"), Some(0), bytes);
        }
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), [], "the files are back");
        assert_eq!(values(&log, 0, 7).len(), 7);
        drop(log);
        for (base, _) in &bytes {
            lose(&world, *base);
        }
        let log = world.open(starts(marks)[number]);
        skip(&log, 0, 7);
        log.start_epoch(LATER.epoch).unwrap();
        assert_eq!(append_at(&log, &["h"], LATER).unwrap().base_offset.get(), 7);
        for start in starts(log.close().unwrap()) {
            assert_eq!(texts(&values(&world.open(start), 0, 8)), ["h"]);
        }
    }
}

#[test]
fn more_segments_that_are_lost_later_are_damaged_too() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        lose(&world, 0);
        drop(world.open(starts(marks)[number]));
        lose(&world, 2);
        let log = world.open(starts(marks)[number]);
        is_refused(&log, 2, (0, 4));
        assert_eq!(listed(&log), [missing(0, 0, (0, 4))]);
        assert_eq!(texts(&values(&log, 4, 7)), ["e", "f", "g"]);
    }
}

#[test]
fn a_lost_segment_between_others_is_listed_before_anybody_reads_it() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        let bytes = lose(&world, 2);
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), [missing(0, size() * 2, (2, 4))]);
        is_refused(&log, 2, (2, 4));
        assert_eq!(texts(&values(&log, 0, 2)), ["a", "b"]);
        assert_eq!(texts(&values(&log, 4, 7)), ["e", "f", "g"]);
        drop(log);
        world.overwrite(&file(2, "log"), Some(0), &bytes);
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), [], "the file is back");
        assert_eq!(values(&log, 0, 7).len(), 7);
    }
}

#[test]
fn compaction_does_not_explain_a_lost_first_segment() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        let compacted = Compacted { gaps_below: Offset::new(6), clean_below: Offset::new(6) };
        compacted.store(&world.disk, file(0, "log").parent().unwrap()).unwrap();
        lose(&world, 0);
        for start in [number, 3] {
            let log = world.open(starts(marks)[start]);
            is_refused(&log, 0, (0, 2));
            assert_eq!(listed(&log), [missing(0, 0, (0, 2))]);
        }
    }
}

#[test]
fn a_lost_segment_that_began_before_the_log_start_can_come_back() {
    for number in 0..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = CheckpointOffsets { log_start: Offset::new(1), ..letters(&world) };
        let bytes = lose(&world, 0);
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), [missing(1, 0, (1, 2))]);
        drop(log);
        world.overwrite(&file(0, "log"), Some(0), &bytes);
        let log = world.open(starts(marks)[number]);
        assert_eq!(listed(&log), []);
        assert_eq!(texts(&values(&log, 1, 7)), ["b", "c", "d", "e", "f", "g"]);
        assert_eq!(world.segments(), [0, 2, 4, 6]);
    }
}

#[test]
fn segments_that_retention_removed_right_before_a_crash_are_not_lost() {
    for number in 1..4 {
        let world = World::with_segments_of(size() * 2);
        let marks = letters(&world);
        let CheckpointOffsets { log_start, durable, .. } = marks;
        let log = world.open(StartPoint::Clean { log_start, log_end: durable });
        log.retention().advance_log_start(Offset::new(4)).unwrap();
        assert_eq!(log.retention().delete_before_start(Offset::new(7)).unwrap().segments, 2);
        drop(log);
        // The history alone shows it, and so do the names alone, after a crash before it is stored.
        for is_told in [true, false, true] {
            if !is_told {
                let history = file(0, "log").with_file_name("leader-epoch-checkpoint");
                world.overwrite(&history, Some(0), b"0\n1\n3 0\n");
                world.overwrite(&file(0, "log.deleted"), Some(0), &two(0));
                world.overwrite(&file(2, "log.deleted"), Some(0), &two(2));
            }
            let log = world.open(starts(marks)[number]);
            assert_eq!((log.log_start_offset().get(), listed(&log)), (4, Vec::new()));
            assert!(!world.names("/data/t-0").iter().any(|name| name.ends_with(".deleted")));
        }
    }
}

/// Two batches from an offset on.
fn two(base: i64) -> Vec<u8> {
    let of = |offset: i64| {
        let mut batch = batch(&["x"]);
        batch[..8].copy_from_slice(&offset.to_be_bytes());
        batch
    };
    [of(base), of(base + 1)].concat()
}

#[test]
fn first_segments_that_were_never_durable_are_not_lost() {
    let world = World::with_segments_of(size() * 2);
    letters(&world);
    lose(&world, 0);
    let never =
        CheckpointOffsets { log_start: Offset::ZERO, durable: Offset::ZERO, rebuild: Offset::ZERO };
    let log = world.open(crashed_rebuilding(never, false));
    assert_eq!((log.log_start_offset().get(), listed(&log)), (2, Vec::new()));
}

#[test]
fn a_torn_segment_right_behind_lost_ones_is_cut_and_the_log_goes_on() {
    for start in [1, 2, 3] {
        for kept in [0, size() / 2] {
            let world = World::with_segments_of(size() * 2);
            let marks = CheckpointOffsets { durable: Offset::new(6), ..letters(&world) };
            for base in [0, 2, 4] {
                lose(&world, base);
            }
            let torn = world.disk.open(&file(6, "log"), OpenMode::Write).unwrap();
            torn.set_len(kept).unwrap();
            torn.sync_data().unwrap();
            let log = world.open(starts(marks)[start]);
            assert_eq!((log.log_start_offset().get(), log.log_end_offset().get()), (0, 6));
            assert_eq!(listed(&log), [missing(0, 0, (0, 6))], "{kept} bytes, start {start}");
            skip(&log, 0, 6);
            log.start_epoch(LATER.epoch).unwrap();
            assert_eq!(append_at(&log, &["h"], LATER).unwrap().base_offset.get(), 6);
            assert_eq!(texts(&values(&log, 0, 7)), ["h"]);
        }
    }
}

#[test]
fn known_damage_is_kept_although_the_durable_point_is_lost_too() {
    let world = World::with_segments_of(size() * 2);
    let marks = letters(&world);
    lose(&world, 0);
    drop(world.open(starts(marks)[1]));
    let unknown = CheckpointOffsets { durable: Offset::ZERO, rebuild: Offset::ZERO, ..marks };
    for start in [1, 2, 3] {
        let log = world.open(starts(unknown)[start]);
        assert_eq!(listed(&log), [missing(0, 0, (0, 2))], "start {start}");
        assert_eq!(texts(&values(&log, 2, 7)), ["c", "d", "e", "f", "g"]);
    }
}
