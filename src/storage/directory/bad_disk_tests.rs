//! Tests of a data directory on a disk that is full, fails, or has lost files or records.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::directory_tests::{
    DATA, World, append, append_in, opener, partition, stop, topic, with_ten_records,
};
use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{MemoryDisk, OpenMode};
use crate::storage::{
    DataDir, HighWatermarks, Log, LogConfig, LogConfigs, StorageError, Unreadable,
};
use crate::types::Offset;

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_log_that_disappeared_is_reported() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 10);
    world.disk.rename(Path::new("/data/web-0"), Path::new("/elsewhere")).unwrap();
    let directory = world.open().unwrap();
    assert_eq!(directory.start_report().missing, [(partition(0), topic(1).topic_id)].into());
}

#[test]
fn a_log_that_disappeared_before_a_start_after_a_crash_is_reported_unless_it_was_removed() {
    for is_removed in [false, true] {
        let world = World::new();
        let (directory, log) = with_ten_records(&world);
        log.flush().unwrap();
        directory.checkpoint(&HighWatermarks::new()).unwrap();
        if is_removed {
            directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
            directory.record_removals().unwrap();
        } else {
            world.disk.rename(Path::new("/data/web-0"), Path::new("/elsewhere")).unwrap();
        }
        drop((directory, log));
        for _ in 0..2 {
            let directory = world.open().unwrap();
            let gone = if is_removed { Vec::new() } else { vec![partition(0)] };
            assert_eq!(directory.start_report().gone, gone);
        }
        if is_removed {
            continue;
        }
        world.open().unwrap().forget_gone_log(&partition(1));
        let directory = world.open().unwrap();
        directory.restore_lost_log(&partition(0), topic(1)).unwrap();
        drop(directory);
        for _ in 0..2 {
            let log = world.open().unwrap().log(&partition(0)).unwrap().unwrap();
            assert_eq!(log.tail().lost_end().unwrap(), Some(Offset::ZERO..Offset::new(10)));
        }
    }
}

#[test]
fn damaged_checkpoints_and_runs_are_reported_and_rebuilt() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    log.flush().unwrap();
    directory.checkpoint(&HighWatermarks::new()).unwrap();
    drop((directory, log));
    world.put("/data/durable-point-checkpoint", b"0\n1\nweb 0 10\n");
    world.put("/data/run", b"?");
    let directory = world.open().unwrap();
    assert_eq!(directory.start_report().rebuilt, ["durable-point-checkpoint", "run"]);
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(10));
    drop((directory, log));
    assert!(world.open().unwrap().start_report().rebuilt.is_empty());
}

/// A machine, and a directory with a log of ten flushed records.
fn with_ten_flushed_records() -> (FaultyDisk, World, DataDir, Arc<Log>) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let (directory, log) = with_ten_records(&world);
    log.flush().unwrap();
    (disk, world, directory, log)
}

/// As `with_ten_flushed_records`, on a disk that is full for files with this suffix, without a
/// reserve.
fn on_a_full_disk(suffix: &str) -> (FaultyDisk, World, DataDir, Arc<Log>) {
    let (disk, world, directory, log) = with_ten_flushed_records();
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(suffix).for_ever());
    (disk, world, directory, log)
}

#[test]
fn a_log_start_that_cannot_be_recorded_stays_where_it_was() {
    let (disk, _world, directory, log) = on_a_full_disk("log-start-offset-checkpoint.tmp");
    let refusal = directory.advance_log_start(&log, Offset::new(5)).unwrap_err();
    assert!(matches!(refusal, StorageError::OutOfSpace { .. }), "{refusal}");
    assert_eq!(log.log_start_offset(), Offset::ZERO);
    disk.clear_faults();
    directory.checkpoint(&HighWatermarks::new()).unwrap();
    assert_eq!(directory.advance_log_start(&log, Offset::new(4)).unwrap(), Offset::new(4));
}

#[test]
fn a_directory_closes_on_a_full_disk_and_is_read_at_the_next_start() {
    for suffix in [".snapshot.tmp", "-checkpoint.tmp", "clean-stop.tmp", ".tmp"] {
        let (disk, world, directory, log) = on_a_full_disk(suffix);
        drop(log);
        stop(directory, 10);
        disk.clear_faults();
        let directory = world.open().unwrap();
        let log = directory.log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::new(10), "without {suffix}");
    }
}

/// A machine with a log of three segments of a record each, of which the first is flushed. The sync
/// of the second fails and loses it; the third is in the page cache.
fn with_a_failed_sync() -> (FaultyDisk, World, LogConfigs) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let configs: LogConfigs =
        Arc::new(|_, _| Arc::new(LogConfig { segment_size: ByteSize(1), ..LogConfig::default() }));
    let directory = world.open_with(opener(), Arc::clone(&configs)).unwrap();
    let log = directory.create_log(&partition(0), topic(1)).unwrap();
    append(&log, 1).unwrap();
    log.flush().unwrap();
    directory.checkpoint(&HighWatermarks::new()).unwrap();
    append_in(&log, log.epochs().latest().unwrap().unwrap(), 2).unwrap();
    let lost = "00000000000000000001.log";
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(lost));
    assert!(log.flush().unwrap_err().leaves_disk_unknown());
    (disk, world, configs)
}

#[test]
fn what_a_failed_sync_has_lost_is_a_torn_tail_in_the_same_boot() {
    let (_disk, world, configs) = with_a_failed_sync();
    let directory = world.open_with(opener(), Arc::clone(&configs)).unwrap();
    assert!(directory.start_report().had_failed_sync);
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!((log.log_end_offset(), log.flushed_offset()), (Offset::new(1), Offset::new(1)));
    assert!(log.checks().damages().is_empty());
    drop((directory, log));
    let directory = world.open_with(opener(), configs).unwrap();
    assert!(!directory.start_report().had_failed_sync, "the logs are recovered");
}

#[test]
fn a_manifest_written_after_a_failed_sync_is_ignored() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let (directory, log) = with_ten_records(&world);
    disk.inject(Fault::new(Operation::SyncDir, Failure::NoSpace).on(DATA));
    assert!(directory.checkpoint(&HighWatermarks::new()).is_err());
    drop(log);
    stop(directory, 10);
    let directory = world.open().unwrap();
    let start = directory.start_report();
    assert!(start.had_failed_sync && !start.was_clean && start.recovered == 1, "{start:?}");
    stop(directory, 10);
    assert!(world.open().unwrap().start_report().was_clean);
}

#[test]
fn a_start_that_fails_to_sync_is_followed_by_one_that_trusts_as_little() {
    let (disk, world, configs) = with_a_failed_sync();
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on("run.tmp"));
    assert!(world.open_with(opener(), Arc::clone(&configs)).is_err());
    let directory = world.open_with(opener(), configs).unwrap();
    assert!(directory.start_report().had_failed_sync);
}

#[test]
fn a_log_can_be_removed_while_nothing_can_be_written() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let (directory, log) = with_ten_records(&world);
    append(&log, 1).unwrap();
    for operation in [Operation::Write, Operation::SyncData] {
        disk.inject(Fault::new(operation, Failure::NoSpace).for_ever());
    }
    disk.inject(Fault::new(Operation::Rename, Failure::NoSpace));
    assert!(directory.remove_log(&partition(0), topic(1).topic_id).is_err());
    assert_eq!(directory.partitions().len(), 1, "it can be removed by another call");
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
    assert!(directory.partitions().is_empty());
    assert!(!world.names(DATA).contains(&"web-0".to_owned()));
    // A flush that was scheduled finds nothing to do, and does not fail.
    assert_eq!(log.flush().unwrap(), log.flushed_offset());
    assert_eq!(log.flushes().unflushed(), None);
    assert!(append(&log, 1).is_err());
}

#[test]
fn what_cannot_be_moved_is_left_alone_and_prevents_no_start() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let (directory, _) = with_ten_records(&world);
    stop(directory, 10);
    world.put("/data/notes.txt", b"immutable");
    world.put("/data/photos/1", b"of another user");
    world.put("/data/subvolume/1", b"of another file system");
    world.put("/data/volume/1", b"mounted");
    world.put("/data/\u{FFFD}/1", b"not UTF-8");
    for (name, failure) in [
        ("/notes.txt", Failure::NotPermitted),
        ("/photos", Failure::NotPermitted),
        ("/subvolume", Failure::CrossesDevices),
        ("/volume", Failure::Busy),
    ] {
        disk.inject(Fault::new(Operation::Rename, failure).on(name));
    }
    let directory = world.open().unwrap();
    let report = directory.start_report();
    let left: Vec<_> = report.left_alone.iter().map(|(path, _)| path.clone()).collect();
    let names = ["notes.txt", "photos", "subvolume", "volume", "\u{FFFD}"];
    assert_eq!(left, names.map(|name| PathBuf::from("/data").join(name)));
    assert!(report.was_clean && report.quarantined.is_empty(), "{report:?}");
    assert_eq!(world.names("/data/quarantine"), [""; 0], "an empty directory is left behind");
    for path in left {
        assert!(world.disk.exists(&path).unwrap());
    }
}

#[test]
fn a_new_volume_may_have_directories_of_its_file_system() {
    let world = World::new();
    world.put("/data/.snapshot/hourly.0", b"the file system's");
    world.put("/data/lost+found/1", b"the file system's");
    let report = world.open().unwrap().start_report().clone();
    assert!(report.quarantined.is_empty() && report.left_alone.is_empty(), "{report:?}");
}

/// A directory after a crash, with ten flushed records in the logs of partitions 0 and 1.
fn with_two_logs() -> (FaultyDisk, World) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let world = World::on(Arc::new(disk.clone()));
    let (directory, log) = with_ten_records(&world);
    let other = directory.create_log(&partition(1), topic(1)).unwrap();
    append(&other, 10).unwrap();
    log.flush().unwrap();
    other.flush().unwrap();
    directory.checkpoint(&HighWatermarks::new()).unwrap();
    (disk, world)
}

/// Stops a run in order in which both logs have ten records.
fn stop_all(directory: &DataDir) {
    for index in [0, 1] {
        // One that cannot be opened stays as it was.
        let _ = directory.log(&partition(index));
    }
    directory.close(&HighWatermarks::new()).unwrap();
    directory.unlock();
}

/// Opens a directory in which partition 0 cannot be recovered.
fn open_without_the_first(world: &World) -> DataDir {
    let directory = world.open().unwrap();
    let refused = directory.log(&partition(0)).unwrap_err();
    assert!(
        refused.to_string().contains("web-0 takes no more records: its log is closed"),
        "{refused}"
    );
    let other = directory.log(&partition(1)).unwrap().unwrap();
    assert_eq!(other.log_end_offset(), Offset::new(10));
    directory
}

#[test]
fn a_log_that_cannot_be_recovered_is_closed_until_a_start_recovers_it() {
    let flipped = "/data/web-0/damaged";
    for is_read in [true, false] {
        let (disk, world) = with_two_logs();
        if is_read {
            let fault = Fault::new(Operation::ReadMedium, Failure::InputOutput);
            disk.inject(fault.on("web-0/00000000000000000000.log").for_ever());
        } else {
            world.put(flipped, b"0\n0\ncrc 00000000\n");
        }
        drop(open_without_the_first(&world));
        // The stop in order of a run that has not recovered the log does not vouch for it.
        stop(open_without_the_first(&world), 10);
        drop(open_without_the_first(&world));
        disk.clear_faults();
        if !is_read {
            world.disk.remove_file(Path::new(flipped)).unwrap();
        }
        let log = world.open().unwrap().log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::new(10));
    }
}

#[test]
fn a_log_that_cannot_be_opened_counts_as_lost_and_goes_to_quarantine_once_it_is_given_up() {
    let theirs = topic(1).topic_id;
    for is_clean in [false, true] {
        let (_, world) = with_two_logs();
        if is_clean {
            let directory = world.open().unwrap();
            stop_all(&directory);
        }
        world.put("/data/web-0/damaged", b"0\n0\ncrc 00000000\n");
        for _ in 0..2 {
            let directory = world.open().unwrap();
            assert_eq!(directory.losses().unwrap(), [(partition(0), theirs)], "{is_clean}");
            if is_clean {
                stop_all(&directory);
            }
        }
        let directory = world.open().unwrap();
        directory.give_up_lost_end(&partition(0), topic(2).topic_id, Unreadable::SetAside).unwrap();
        assert!(directory.log(&partition(0)).is_err(), "the loss of another topic");
        directory.give_up_lost_end(&partition(0), theirs, Unreadable::SetAside).unwrap();
        assert_eq!(world.names("/data/quarantine").len(), 1);
        assert!(directory.log(&partition(0)).unwrap().is_none());
        assert_eq!(directory.floor(&partition(0), theirs), None);
        let log = directory.create_log(&partition(0), topic(1)).unwrap();
        append(&log, 3).unwrap();
        log.flush().unwrap();
        drop((directory, log));
        let directory = world.open().unwrap();
        assert_eq!(directory.losses().unwrap(), []);
        let log = directory.log(&partition(0)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::new(3));
    }
}

#[test]
fn a_log_that_nobody_else_has_stays_until_it_can_be_opened() {
    let theirs = topic(1).topic_id;
    let (_, world) = with_two_logs();
    let damaged = Path::new("/data/web-0/damaged");
    world.put("/data/web-0/damaged", b"0\n0\ncrc 00000000\n");
    let directory = world.open().unwrap();
    assert_eq!(directory.losses().unwrap(), [(partition(0), theirs)]);
    let give_up = |unreadable| directory.give_up_lost_end(&partition(0), theirs, unreadable);
    assert!(give_up(Unreadable::Kept).is_err());
    world.disk.remove_file(damaged).unwrap();
    give_up(Unreadable::SetAside).unwrap();
    assert!(!world.disk.exists(Path::new("/data/quarantine")).unwrap(), "it can be opened now");
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(10));
}

#[test]
fn a_loss_is_noted_and_forgotten_only_once_that_is_on_the_disk() {
    let theirs = topic(1).topic_id;
    let (disk, world) = with_two_logs();
    let directory = world.open().unwrap();
    let fails = || disk.inject(Fault::new(Operation::SyncData, Failure::NoSpace).on("run.tmp"));
    fails();
    assert!(directory.note_loss(&partition(0), theirs).is_err());
    assert_eq!(directory.losses().unwrap(), []);
    directory.note_loss(&partition(0), theirs).unwrap();
    fails();
    let give_up = || directory.give_up_lost_end(&partition(0), theirs, Unreadable::SetAside);
    assert!(give_up().is_err());
    assert_eq!(directory.losses().unwrap(), [(partition(0), theirs)]);
    give_up().unwrap();
    drop(directory);
    assert_eq!(world.open().unwrap().losses().unwrap(), []);
}

#[test]
fn a_log_that_cannot_be_opened_for_want_of_descriptors_is_not_lost() {
    let (disk, world) = with_two_logs();
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).on(".log").for_ever());
    let refused = world.open().unwrap_err();
    assert!(!refused.keeps_log_closed(), "{refused}");
    disk.clear_faults();
    let directory = world.open().unwrap();
    directory.close(&HighWatermarks::new()).unwrap();
    assert_eq!(directory.losses().unwrap(), []);
}

#[test]
fn a_log_that_is_recovered_in_a_later_run_has_lost_what_a_power_failure_may_take() {
    let (disk, mut world, configs) = with_a_failed_sync();
    disk.clear_faults();
    world.disk.remove_file(Path::new("/data/sync-failed")).unwrap();
    world.boot_id = "boot-2".to_owned();
    let lost = Path::new("/data/web-0/00000000000000000001.log");
    let file = world.disk.open(lost, OpenMode::Write).unwrap();
    crate::io::write_all_at(&*file, &mut [std::io::IoSlice::new(b"?")], 40).unwrap();
    let read = Fault::new(Operation::ReadMedium, Failure::InputOutput).on(".log");
    for _ in 0..2 {
        disk.inject(read.clone().for_ever());
        let directory = world.open_with(opener(), Arc::clone(&configs)).unwrap();
        assert!(directory.log(&partition(0)).is_err());
        disk.clear_faults();
    }
    let directory = world.open_with(opener(), configs).unwrap();
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(1), "the rest is a torn tail");
    assert!(log.checks().damages().is_empty());
}

#[test]
fn a_log_that_is_gone_and_cannot_be_made_again_stays_closed_and_is_missed_by_every_start() {
    let (disk, world, directory, log) = with_ten_flushed_records();
    directory.checkpoint(&HighWatermarks::new()).unwrap();
    world.disk.rename(Path::new("/data/web-0"), Path::new("/elsewhere")).unwrap();
    drop((directory, log));
    let fail_to_restore = || {
        let directory = world.open().unwrap();
        disk.inject(Fault::new(Operation::CreateDir, Failure::NotPermitted).for_ever());
        assert!(directory.restore_lost_log(&partition(0), topic(1)).is_err());
        let refused = directory.log(&partition(0)).unwrap_err();
        assert!(refused.to_string().contains("its log is closed"), "{refused}");
        disk.clear_faults();
        directory
    };
    drop(fail_to_restore());
    assert_eq!(world.open().unwrap().start_report().gone, [partition(0)]);
    fail_to_restore().close(&HighWatermarks::new()).unwrap();
    for _ in 0..2 {
        let directory = fail_to_restore();
        let missing: Vec<_> = directory.start_report().missing.clone().into_iter().collect();
        assert_eq!(missing, [(partition(0), topic(1).topic_id)]);
        directory.close(&HighWatermarks::new()).unwrap();
    }
}

#[test]
fn a_new_log_waits_for_a_checkpoint_only_if_that_may_contain_its_name() {
    let (disk, world, directory, log) = with_ten_flushed_records();
    thread::scope(|scope| {
        let hold = disk.hold_sync_of("durable-point-checkpoint.tmp");
        scope.spawn(|| directory.checkpoint(&HighWatermarks::new()));
        assert!(hold.wait_for(1, PATIENCE));
        // The offsets that are being written are of a log that is removed meanwhile.
        directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
        let (created, next_created) = mpsc::sync_channel(2);
        let create = |index, number| {
            let (directory, created) = (&directory, created.clone());
            scope.spawn(move || {
                directory.create_log(&partition(index), topic(number)).unwrap();
                created.send(index).unwrap();
            });
        };
        create(0, 2);
        create(1, 1);
        assert_eq!(next_created.recv_timeout(PATIENCE), Ok(1));
        drop(hold);
        assert_eq!(next_created.recv_timeout(PATIENCE), Ok(0));
    });
    drop((directory, log));
    let directory = world.open().unwrap();
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::ZERO);
    assert_eq!(log.tail().lost_end().unwrap(), None);
}
