//! Tests of single compaction passes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::kept_tests::{
    DIR, History, Kept, NOW, batch_of, check_files, compact_below, open, settings,
};
use super::world_tests::{AT, MUCH, World, stamp};
use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, Operation};
use crate::io::{Disk, OpenMode, write_all_at};
use crate::record::Compression;
use crate::storage::compacted::Compacted;
use crate::storage::compaction::{Effort, Pass, compact};
use crate::storage::{LogConfig, LogDamage, ReadLimit, StartPoint, StorageError};
use crate::types::Offset;

#[test]
fn the_last_record_of_each_key_keeps_its_offset() {
    for codec in Compression::ALL {
        let mut world = World::new();
        world.append_as(&["a=1", "b=1", "c=1"], None, codec);
        world.append_as(&["a=2", "d=1"], None, codec);
        world.roll();
        world.append_as(&["b=2", "a=3"], None, codec);
        world.roll();
        world.append_as(&["c=2"], None, codec);
        assert!(matches!(world.compact(), Pass::Done { below, .. } if below.get() == 7));
        let expected = ["2:c=1", "4:d=1", "5:b=2", "6:a=3", "7:c=2"];
        assert_eq!(world.left(), expected, "{codec}");
        world.reopen();
        assert_eq!(world.left(), expected, "{codec} after a restart");
        History::check_times(&world.log, [NOW, NOW + 1]);
    }
}

#[test]
fn small_neighbours_become_one_segment() {
    let mut world = World::new();
    for round in 0..5 {
        world.append(&[&format!("k{round}=x")]);
        world.roll();
    }
    assert_eq!(world.names(".log").len(), 6);
    world.compact();
    assert_eq!(world.names(".log"), ["00000000000000000000.log", "00000000000000000005.log"]);
    assert_eq!(world.names(".cleaned").len() + world.names(".swap").len(), 0);
    assert_eq!(world.left().len(), 5);
}

#[test]
fn many_small_segments_become_few_without_all_their_files_open() {
    let mut world = World::new();
    for round in 0..70 {
        world.append(&[&format!("k{round}=x")]);
        world.roll();
    }
    let candidate = world.candidate();
    let effort =
        Effort { map_size: ByteSize(MUCH), now: AT.now, directory: None, keep_going: &|_| true };
    assert!(matches!(compact(&candidate, &effort).unwrap(), Pass::Done { .. }));
    let bases: Vec<i64> = world.log.segments().iter().map(|s| s.base().get()).collect();
    assert_eq!(bases, [0, 32, 64, 70]);
    let open = world.log.context().files.open_count();
    assert!(open <= 3, "{open} files are open while the pass still has the old segments");
    assert_eq!(world.left().len(), 70);
}

#[test]
fn a_tombstone_stays_for_its_time_and_takes_its_key_with_it() {
    let mut world = World::new();
    world.append(&["a=1", "b=1"]);
    world.append(&["a"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["1:b=1", "2:a"], "its retention time begins with this pass");
    world.append(&["b=2"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["2:a", "3:b=2"]);
    world.clock.advance(world.config.delete_retention);
    world.append(&["b=3"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["4:b=3"]);
}

#[test]
fn records_without_a_key_stay() {
    let mut world = World::new();
    world.append(&["=1", "a=1"]);
    world.append(&["=2", "a=2"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:=1", "2:=2", "3:a=2"]);
}

#[test]
fn the_active_segment_and_unrecorded_segments_are_not_compacted() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    assert_eq!(world.compact(), Pass::Stopped);
    world.log.tail().roll(AT.now).unwrap();
    world.append(&["a=3"]);
    assert_eq!(world.compact(), Pass::Stopped, "flushed, but its seal is not written");
    world.roll();
    let early = compact_below(&world.log, Offset::new(1), AT.now, MUCH).unwrap();
    assert_eq!(early, Pass::Stopped, "above the high watermark");
    assert_eq!(world.left().len(), 3);
    world.compact();
    assert_eq!(world.left(), ["2:a=3"]);
}

#[test]
fn a_batch_without_records_keeps_its_producer_known() {
    let mut world = World::new();
    world.append_as(&["a=1", "b=1"], Some(stamp(0)), Compression::Lz4);
    world.append_as(&["a=2", "b=2"], Some(stamp(2)), Compression::Lz4);
    world.append(&["a=3", "b=3"]);
    world.append(&["c=1"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["4:a=3", "5:b=3", "6:c=1"]);
    let marks = world.log.close().unwrap();
    for name in world.names(".snapshot") {
        world.disk.remove_file(&Path::new(DIR).join(name)).unwrap();
    }
    let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
    world.log = open(Arc::new(world.disk.clone()), &world.clock, &world.config, start).unwrap();
    world.log.start_epoch(AT.epoch).unwrap();
    let kept = |key: &str| Kept {
        offset: 0,
        key: Some(key.as_bytes().to_vec()),
        value: Some(b"2".to_vec()),
        time: NOW,
    };
    let mut again = batch_of(&[kept("a"), kept("b")], Compression::Lz4, Some(stamp(2)));
    let outcome = world.log.append(&mut [&mut again], AT).unwrap()[0].unwrap();
    assert_eq!((outcome.base_offset.get(), outcome.is_duplicate), (2, true));
    world.append_as(&["a=4"], Some(stamp(4)), Compression::None);
}

#[test]
fn keys_that_do_not_fit_into_memory_wait_for_the_next_pass() {
    let mut world = World::new();
    for round in 0..3 {
        for name in 0..30 {
            world.append(&[&format!("{name}={round}")]);
        }
    }
    world.roll();
    let mut passes = 0;
    let mut before = 0;
    while let Pass::Done { below, .. } =
        compact_below(&world.log, Offset::new(90), AT.now, 0).unwrap()
    {
        assert!(below.get() > before, "{below} after {before}");
        (before, passes) = (below.get(), passes + 1);
        if before == 90 {
            break;
        }
    }
    assert!(passes > 3, "{passes} passes");
    assert_eq!(world.left().len(), 30);
    History::check_clean(&world.log, 90);
}

#[test]
fn readers_continue_with_the_files_they_have_open() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    let limit = ReadLimit {
        max_bytes: 1 << 20,
        below: Offset::new(2),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let range = world.log.read(Offset::ZERO, limit).unwrap().unwrap();
    world.compact();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    crate::io::read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    assert_eq!(crate::record::Batches::new(&bytes).filter_map(Result::ok).count(), 2);
    assert_eq!(world.left(), ["1:a=2"]);
}

#[test]
fn a_damaged_batch_ends_the_compaction_and_nothing_is_lost() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    let file = world.disk.open(&Path::new(DIR).join("00000000000000000000.log"), OpenMode::Write);
    let file = file.unwrap();
    let length = file.len().unwrap();
    write_all_at(&*file, &mut [std::io::IoSlice::new(b"!")], length - 3).unwrap();
    let refused = compact_below(&world.log, Offset::new(2), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    assert_eq!(file.len().unwrap(), length);
    assert_eq!(world.names(".cleaned"), [""; 0]);
    assert_eq!(world.names("compacted"), [""; 0]);
}

#[test]
fn compaction_continues_around_skipped_damage_and_restores_no_deleted_key() {
    let mut world = World::new();
    world.append(&["a=1", "k=1"]);
    world.roll();
    for record in ["a=2", "c=1", "d=1"] {
        world.append(&[record]);
    }
    world.roll();
    world.append(&["d"]);
    world.append(&["k=2"]);
    world.roll();
    let path = Path::new(DIR).join("00000000000000000002.log");
    world.disk.flip_bit(&path, 63, 1).unwrap();
    let refused = compact_below(&world.log, Offset::new(world.end), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    LogDamage::of(&world.log).check_around(Offset::new(2)).unwrap();
    LogDamage::of(&world.log).skip(Offset::new(2)..Offset::new(3), |_| Ok(())).unwrap();

    let damaged = world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap();
    world.compact();
    let left = ["0:a=1", "3:c=1", "4:d=1", "5:d", "6:k=2"];
    assert_eq!(world.left(), left, "the damaged segment stays, and tombstones of what is in it");
    world.clock.advance(world.config.delete_retention);
    world.append(&["k=3"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:a=1", "3:c=1", "4:d=1", "5:d", "7:k=3"]);
    assert_eq!(world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap(), damaged);
    world.reopen();
    assert_eq!(world.left().len(), 5);
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    world.disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".cleaned"));
    let refused = compact_below(&world.log, Offset::new(2), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::OutOfSpace { .. })), "{refused:?}");
    assert_eq!(world.names(".cleaned"), [""; 0]);
    world.append(&["a=3"]);
    world.compact();
    assert_eq!(world.left(), ["1:a=2", "2:a=3"]);
}

#[test]
fn a_disk_that_fills_at_any_step_of_a_compaction_leaves_a_usable_log() {
    for operation in [Operation::Write, Operation::Open] {
        for call in 1.. {
            let mut world = World::new();
            for value in 1..=9 {
                world.append(&[&format!("a={value}")]);
            }
            world.roll();
            // Only a replacement's file is newly created.
            let suffix = if operation == Operation::Open { ".cleaned" } else { "" };
            let fault = Fault::new(operation, Failure::NoSpace).on(suffix);
            world.disk.inject(fault.at_call(call).for_ever());
            let done = compact_below(&world.log, Offset::new(9), AT.now, MUCH);
            world.disk.clear_faults();
            world.append(&["b=1"]);
            world.reopen();
            let left = world.left();
            assert_eq!(left.last().map(String::as_str), Some("9:b=1"), "{operation:?} {call}");
            assert_eq!(left[left.len() - 2], "8:a=9", "{operation:?} {call}");
            let log: Arc<dyn Disk> = Arc::new(world.disk.clone());
            world.log.close().unwrap();
            check_files(&log);
            if done.is_ok() {
                assert!(call > 3, "only {call} calls of {operation:?}");
                break;
            }
            assert!(matches!(done, Err(StorageError::OutOfSpace { .. })), "{done:?}");
        }
    }
}

#[test]
fn a_replacement_that_cannot_be_completed_ends_the_log_until_the_next_start() {
    for operation in [Operation::SyncDir, Operation::Rename, Operation::Remove] {
        let mut world = World::new();
        world.append(&["a=1"]);
        world.append(&["a=2"]);
        world.roll();
        let suffix = if operation == Operation::SyncDir { "" } else { ".log" };
        let call = if operation == Operation::SyncDir { 3 } else { 1 };
        let fault = Fault::new(operation, Failure::InputOutput).on(suffix).at_call(call);
        world.disk.inject(fault);
        assert!(compact_below(&world.log, Offset::new(2), AT.now, MUCH).is_err());
        assert_eq!(world.left(), ["0:a=1", "1:a=2"], "{operation:?}");
        assert!(world.log.close().is_err(), "it does not count as cleanly closed");
        let (durable, log_start) = (Offset::new(2), Offset::ZERO);
        let start = StartPoint::Unclean { log_start, durable, rebuild: durable, same_boot: true };
        world.log = open(Arc::new(world.disk.clone()), &world.clock, &world.config, start).unwrap();
        assert_eq!(world.left(), ["1:a=2"], "{operation:?}");
    }
}

#[test]
fn the_dirty_ratio_survives_a_restart_and_decides_when_a_log_is_compacted() {
    let mut world = World::new();
    for _ in 0..10 {
        world.append(&["a=1", "b=1"]);
    }
    world.roll();
    assert!(world.candidate().is_due(), "all of it is dirty");
    world.compact();
    assert!(!world.candidate().is_due(), "nothing is dirty");
    world.append(&["c=1", "d=1", "e=1", "f=1", "g=1", "h=1", "i=1", "j=1", "k=1", "l=1"]);
    world.roll();
    world.compact();
    world.append(&["a=2"]);
    world.roll();
    for _ in 0..2 {
        let ratio = world.candidate().dirty_ratio();
        assert!(ratio > 0.1 && ratio < 0.5 && !world.candidate().is_due(), "{ratio}");
        world.reopen();
    }
    let path = Path::new(DIR);
    let known = Compacted::load(&world.disk, path).unwrap();
    assert_eq!(known.clean_below, known.gaps_below);
}

#[test]
fn compaction_lags_delay_and_force_compaction() {
    let minute = Duration::from_mins(1);
    let mut world = World::with(LogConfig { min_compaction_lag: minute, ..settings(10_000) });
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    assert!(!world.candidate().is_due());
    world.clock.advance(minute);
    assert!(world.candidate().is_due());

    let config = LogConfig {
        max_compaction_lag: minute,
        min_cleanable_dirty_ratio: 1.0,
        ..settings(10_000)
    };
    let mut world = World::with(config);
    world.append(&["a=1", "b=1"]);
    world.roll();
    world.compact();
    world.append(&["a=2"]);
    assert!(!world.log.tail().roll_older(minute, AT.now).unwrap());
    world.roll();
    assert!(!world.candidate().is_due());
    world.clock.advance(minute);
    assert!(world.candidate().is_due());
    world.append(&["a=3"]);
    world.clock.advance(minute);
    assert!(world.log.tail().roll_older(minute, AT.now).unwrap());
}

#[test]
fn a_segment_that_a_repair_replaces_is_not_compacted_meanwhile() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    assert!(world.log.compactable().claim(Offset::ZERO));
    assert!(!world.log.compactable().claim(Offset::ZERO));
    assert_eq!(world.compact(), Pass::Stopped);
    assert_eq!(world.left(), ["0:a=1", "1:a=2"]);
    world.log.compactable().release(Offset::ZERO);
    assert!(matches!(world.compact(), Pass::Done { .. }));
    assert_eq!(world.left(), ["1:a=2"]);
}
