//! Tests of the faulty disk's failures: planned faults, held and frozen calls, and handles from
//! before a power failure or the end of a process.

use std::collections::BTreeSet;
use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use super::disk_tests::{PAGE, SEEDS, contents, create, create_durable, fresh, names, write};
use super::{Failure, Fault, Operation};
use crate::io::{Disk, OpenMode, is_failed_sync, is_out_of_space};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_failed_sync_is_not_cured_by_a_second_one() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, &[1; PAGE], 0);
    file.sync_data().unwrap();
    write(&file, &[2; PAGE], 0);
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput));
    assert!(is_failed_sync(&file.sync_data().unwrap_err()));
    file.sync_data().unwrap();

    let mut byte = [0];
    file.read_at(&mut byte, 0).unwrap();
    assert_eq!(byte, [2], "the page cache still has it");
    file.read_medium_at(&mut byte, 0).unwrap();
    assert_eq!(byte, [1], "the medium never got it");
    disk.sync_filesystem(Path::new("/")).unwrap();
    assert_eq!(contents(&disk.crash(1).unwrap(), "/a"), [1; PAGE]);
}

#[test]
fn held_sync_blocks_until_released() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, b"abc", 0);
    let hold = disk.hold_sync();
    assert!(!hold.wait_for(1, Duration::from_millis(1)));

    let syncing = thread::spawn({
        let file = Arc::clone(&file);
        move || file.sync_data()
    });
    assert!(hold.wait_for(1, PATIENCE));
    write(&file, b"d", 3);
    assert_eq!(contents(&disk, "/a"), b"abcd", "others go on");
    assert!(!syncing.is_finished());
    assert_eq!(hold.waiting(), 1);

    drop(hold);
    syncing.join().unwrap().unwrap();
    assert_eq!(contents(&disk.crash(0).unwrap(), "/a"), b"abcd");
}

#[test]
fn a_power_failure_ends_held_syncs_with_an_error() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    let hold = disk.hold_sync();
    let syncing = thread::spawn(move || file.sync_data());
    assert!(hold.wait_for(1, PATIENCE));
    disk.crash(1).unwrap();
    assert!(syncing.join().unwrap().is_err());
}

#[test]
fn held_reads_block_if_they_are_large_until_released() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, &[7; 100], 0);
    let hold = disk.hold_reads(50);
    assert!(!file.is_cached(0, 50) && file.is_cached(0, 49));
    assert_eq!(file.read_at(&mut [0; 49], 0).unwrap(), 49);
    let reading = thread::spawn({
        let file = Arc::clone(&file);
        move || file.read_at(&mut [0; 50], 0)
    });
    assert!(hold.wait_for(1, PATIENCE));
    assert!(!reading.is_finished());
    drop(hold);
    assert_eq!(reading.join().unwrap().unwrap(), 50);
    assert!(file.is_cached(0, 100));
}

#[test]
fn handles_from_before_a_power_failure_fail_after_it() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, b"abc", 0);
    file.sync_data().unwrap();
    let next = disk.crash(1).unwrap();

    assert!(file.read_at(&mut [0], 0).is_err());
    assert!(file.write_at(&[IoSlice::new(b"x")], 0).is_err());
    assert!(file.sync_data().is_err());
    assert!(file.len().is_err());
    assert!(disk.open(Path::new("/b"), OpenMode::Create).is_err());
    assert!(disk.crash(2).is_err());
    drop(file);
    assert_eq!(contents(&next, "/a"), b"abc");
    assert_eq!(names(&next, "/"), ["a"]);
}

#[test]
fn a_lock_ends_with_the_power() {
    let disk = fresh();
    disk.create_dir(Path::new("/data")).unwrap();
    let dir = Path::new("/data");
    let lock = Path::new("/data/.lock");
    let held = disk.lock(dir, lock, "the first").unwrap();
    let refused = disk.lock(dir, lock, "the second").unwrap_err();
    assert_eq!((refused.kind(), refused.to_string()), (ErrorKind::WouldBlock, "the first".into()));
    assert_eq!(names(&disk, "/data"), [".lock"]);

    let disk = disk.crash(1).unwrap();
    let again = disk.lock(dir, lock, "the second").unwrap();
    drop(held);
    assert!(disk.lock(dir, lock, "the third").is_err(), "an old guard frees nothing");
    drop(again);
    assert!(disk.lock(dir, lock, "the third").is_ok());
}

#[test]
fn calls_fail_as_planned() {
    let disk = fresh();
    let file = create_durable(&disk, "/a.log");
    disk.inject(Fault::new(Operation::Write, Failure::ShortWrite(2)).on(".log").at_call(2));
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".log").at_call(3));
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).times(2));

    write(&file, b"abcd", 0);
    assert_eq!(file.write_at(&[IoSlice::new(b"ef"), IoSlice::new(b"gh")], 4).unwrap(), 2);
    assert!(is_out_of_space(&file.write_at(&[IoSlice::new(b"gh")], 6).unwrap_err()));
    for _ in 0..2 {
        let refused = disk.open(Path::new("/b"), OpenMode::Create).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::libc::EMFILE));
    }
    assert_eq!(contents(&disk, "/a.log"), b"abcdef");
    assert_eq!((disk.calls(Operation::Write), disk.calls(Operation::Open)), (3, 4));
    assert!(!disk.exists(Path::new("/b")).unwrap());

    disk.inject(Fault::new(Operation::SyncDir, Failure::TooManyOpenFiles));
    assert!(!is_failed_sync(&disk.sync_dir(Path::new("/")).unwrap_err()), "it was not tried");
    disk.inject(Fault::new(Operation::SyncDir, Failure::InputOutput).for_ever());
    assert!(disk.sync_dir(Path::new("/")).is_err() && disk.sync_dir(Path::new("/")).is_err());
    disk.clear_faults();
    disk.sync_dir(Path::new("/")).unwrap();
}

#[test]
fn bits_flip_in_a_read_or_on_the_medium() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, &[0; 8], 0);
    file.sync_data().unwrap();

    disk.inject(Fault::new(Operation::Read, Failure::FlipBit { byte: 3, bit: 0 }));
    assert_eq!(contents(&disk, "/a"), [0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(contents(&disk, "/a"), [0; 8]);

    disk.flip_bit(Path::new("/a"), 5, 7).unwrap();
    assert_eq!(contents(&disk, "/a"), [0, 0, 0, 0, 0, 128, 0, 0]);
    let beyond = disk.flip_bit(Path::new("/a"), 8, 0).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(contents(&disk.crash(1).unwrap(), "/a"), [0, 0, 0, 0, 0, 128, 0, 0]);
}

#[test]
fn free_space_can_be_overridden() {
    let disk = fresh();
    disk.create_dir(Path::new("/new")).unwrap();
    assert!(disk.free_bytes(Path::new("/new")).unwrap() > 0);
    disk.set_free_bytes(Some(7));
    assert_eq!(disk.free_bytes(Path::new("/new")).unwrap(), 7);
}

#[test]
fn a_sync_that_does_nothing_or_loses_all_succeeds_as_if_it_had_synced() {
    for failure in [Failure::Ignored, Failure::Unnoticed] {
        let mut kept = BTreeSet::new();
        for seed in 0..SEEDS {
            let disk = fresh();
            let file = create_durable(&disk, "/a");
            disk.inject(Fault::new(Operation::SyncData, failure));
            write(&file, &[1; 4], 0);
            file.sync_data().unwrap();
            assert_eq!(contents(&disk, "/a"), [1; 4], "the cache shows what was written");
            if failure == Failure::Unnoticed {
                file.sync_data().unwrap();
            }
            kept.insert(contents(&disk.crash(seed).unwrap(), "/a") == [1; 4]);
        }
        let may_be_kept = failure == Failure::Ignored;
        assert_eq!(
            kept,
            [false].into_iter().chain(may_be_kept.then_some(true)).collect::<BTreeSet<_>>()
        );
    }
    let lost = (0..SEEDS).any(|seed| {
        let disk = fresh();
        disk.inject(Fault::new(Operation::SyncDir, Failure::Ignored));
        create_durable(&disk, "/a");
        names(&disk.crash(seed).unwrap(), "/").is_empty()
    });
    assert!(lost, "the name was not durable");
}

#[test]
fn a_sync_of_the_file_system_that_does_nothing_or_loses_all_succeeds_as_if_it_had_synced() {
    for failure in [Failure::Ignored, Failure::Unnoticed] {
        let (mut kept, mut named) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..SEEDS {
            let disk = fresh();
            let file = create_durable(&disk, "/a");
            disk.inject(Fault::new(Operation::SyncFilesystem, failure));
            write(&file, &[1; 4], 0);
            create(&disk, "/b");
            disk.sync_filesystem(Path::new("/")).unwrap();
            assert_eq!(contents(&disk, "/a"), [1; 4], "the cache shows what was written");
            if failure == Failure::Unnoticed {
                file.sync_data().unwrap();
            }
            let disk = disk.crash(seed).unwrap();
            kept.insert(contents(&disk, "/a") == [1; 4]);
            named.insert(disk.exists(Path::new("/b")).unwrap());
        }
        let may_be_kept = failure == Failure::Ignored;
        let expected = if may_be_kept { &[false, true][..] } else { &[false] };
        assert_eq!(kept, expected.iter().copied().collect(), "{failure:?}");
        assert_eq!(named, BTreeSet::from([false, true]), "{failure:?}");
    }
}

#[test]
fn the_end_of_a_process_keeps_what_it_has_written_and_frees_its_lock() {
    let disk = fresh();
    disk.create_dir(Path::new("/data")).unwrap();
    let (dir, note) = (Path::new("/data"), Path::new("/data/.lock"));
    let _held = disk.lock(dir, note, "the first").unwrap();
    let file = create(&disk, "/data/a");
    write(&file, b"written", 0);

    let next = disk.end_process().unwrap();
    assert_eq!(next.boot_id().unwrap(), disk.boot_id().unwrap());
    assert_eq!(contents(&next, "/data/a"), b"written");
    let _again = next.lock(dir, note, "the second").unwrap();
    assert!(is_failed_sync(&file.sync_data().unwrap_err()), "the caller must not try again");
    disk.end_process().unwrap_err();
    // Nothing of it was synced, so nothing of it has to survive.
    let after = next.crash(1).unwrap();
    assert_ne!(after.boot_id().unwrap(), next.boot_id().unwrap());
}

#[test]
fn calls_of_a_frozen_disk_wait_until_it_is_thawed_or_their_process_ends() {
    let disk = fresh();
    let file = create(&disk, "/a");
    let waits = |release: &dyn Fn()| {
        disk.freeze();
        thread::scope(|scope| {
            let ((done, result), file) = (sync_channel(1), &file);
            scope.spawn(move || done.send(file.write_at(&[IoSlice::new(b"x")], 0)).unwrap());
            result.recv_timeout(Duration::from_millis(20)).unwrap_err();
            release();
            result.recv_timeout(PATIENCE).unwrap()
        })
    };
    waits(&|| disk.thaw()).unwrap();
    waits(&|| drop(disk.end_process().unwrap())).unwrap_err();
}
