//! Tests of the faulty disk: the data it keeps and loses, and its failures.

use std::collections::BTreeSet;
use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{
    Disk, File, MemoryDisk, OpenMode, SystemDisk, is_failed_sync, is_out_of_space, read_exact_at,
};

const PAGE: usize = 4096;
const SEEDS: u64 = 500;
const PATIENCE: Duration = Duration::from_secs(30);

fn fresh() -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), 1)
}

fn create(disk: &dyn Disk, path: &str) -> Arc<dyn File> {
    disk.open(Path::new(path), OpenMode::Create).unwrap()
}

/// A new file whose name is durable already.
fn create_durable(disk: &dyn Disk, path: &str) -> Arc<dyn File> {
    let file = create(disk, path);
    disk.sync_dir(Path::new(path).parent().unwrap()).unwrap();
    file
}

fn write(file: &Arc<dyn File>, bytes: &[u8], position: usize) {
    assert_eq!(file.write_at(&[IoSlice::new(bytes)], position as u64).unwrap(), bytes.len());
}

fn contents(disk: &dyn Disk, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

fn names(disk: &dyn Disk, path: &str) -> Vec<String> {
    disk.list(Path::new(path)).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// The contents of `/a` after a power failure, for each seed: four pages of ones were durable, and
/// `change` was applied since.
fn outcomes(change: impl Fn(&Arc<dyn File>)) -> BTreeSet<Vec<u8>> {
    let outcome = |seed| {
        let disk = fresh();
        let file = create_durable(&disk, "/a");
        write(&file, &[1; 4 * PAGE], 0);
        file.sync_data().unwrap();
        change(&file);
        contents(&disk.crash(seed).unwrap(), "/a")
    };
    (0..SEEDS).map(outcome).collect()
}

fn pages(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(PAGE).map(|page| page[0]).collect()
}

#[test]
fn a_page_that_was_not_synced_may_be_lost_or_kept() {
    let outcomes = outcomes(|file| write(file, &[2; PAGE], PAGE));
    let second: BTreeSet<u8> = outcomes.iter().map(|bytes| bytes[PAGE]).collect();
    assert_eq!(second, BTreeSet::from([1, 2]));
    assert!(outcomes.iter().all(|bytes| pages(bytes)[2..] == [1, 1]));
}

#[test]
fn a_synced_page_is_never_lost() {
    let outcomes = outcomes(|file| {
        write(file, &[2; 2 * PAGE], PAGE);
        file.sync_data().unwrap();
    });
    let bytes = outcomes.first().unwrap();
    assert_eq!((outcomes.len(), pages(bytes)), (1, vec![1, 2, 2, 1]));
}

#[test]
fn a_crash_may_keep_a_later_page_and_lose_an_earlier_one() {
    let outcomes = outcomes(|file| {
        for page in 0..4 {
            write(file, &[2; PAGE], page * PAGE);
        }
    });
    let is_whole = |bytes: &&Vec<u8>| bytes.chunks(PAGE).all(|page| page == [page[0]; PAGE]);
    let whole: BTreeSet<Vec<u8>> =
        outcomes.iter().filter(is_whole).map(|bytes| pages(bytes)).collect();
    for expected in [[1, 1, 1, 1], [1, 1, 1, 2], [1, 2, 1, 1], [2, 1, 2, 1], [2, 2, 2, 2]] {
        assert!(whole.contains(&expected[..]), "{expected:?} is not among {whole:?}");
    }
}

#[test]
fn a_page_may_be_torn_between_sectors_only() {
    let outcomes = outcomes(|file| write(file, &[2; PAGE], 0));
    let sectors = |bytes: &Vec<u8>| -> Vec<Vec<u8>> {
        bytes[..PAGE].chunks(512).map(<[u8]>::to_vec).collect()
    };
    let torn = |bytes: &&Vec<u8>| sectors(bytes).iter().any(|sector| *sector != sectors(bytes)[0]);
    assert!(outcomes.iter().filter(torn).count() > 3);
    for sector in outcomes.iter().flat_map(sectors) {
        assert!(sector == [1; 512] || sector == [2; 512], "torn inside: {sector:?}");
    }
}

#[test]
fn a_length_ends_between_the_durable_and_the_live_one() {
    let outcomes = outcomes(|file| write(file, &[2; 3 * PAGE], 4 * PAGE));
    let lengths: BTreeSet<usize> = outcomes.iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|length| (4 * PAGE..=7 * PAGE).contains(length)), "{lengths:?}");
    assert!(lengths.contains(&(4 * PAGE)) && lengths.contains(&(7 * PAGE)) && lengths.len() > 10);
    for bytes in &outcomes {
        assert!(bytes[..4 * PAGE].iter().all(|byte| *byte == 1));
        assert!(bytes[4 * PAGE..].iter().all(|byte| *byte == 0 || *byte == 2));
    }
}

#[test]
fn an_unsynced_truncation_may_be_undone() {
    let outcomes = outcomes(|file| file.set_len(100).unwrap());
    let lengths: BTreeSet<usize> = outcomes.iter().map(Vec::len).collect();
    assert!(lengths.contains(&100) && lengths.contains(&(4 * PAGE)), "{lengths:?}");
    assert!(outcomes.iter().flatten().all(|byte| *byte == 1));
}

#[test]
fn truncated_bytes_do_not_reappear_when_the_file_grows() {
    let disk = fresh();
    let file = create_durable(&disk, "/a");
    write(&file, &[1; 2 * PAGE], 0);
    file.sync_data().unwrap();
    file.set_len(10).unwrap();
    file.set_len(2 * PAGE as u64).unwrap();
    let mut expected = vec![0; 2 * PAGE];
    expected[..10].fill(1);
    assert_eq!(contents(&disk, "/a"), expected);

    file.sync_data().unwrap();
    assert_eq!(contents(&disk.crash(3).unwrap(), "/a"), expected);
}

#[test]
fn the_same_seeds_end_in_the_same_bytes() {
    let run = |seed| {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
        disk.set_write_back(2);
        let file = create_durable(&disk, "/a");
        for page in 0..20 {
            write(&file, &[7; PAGE], page * PAGE);
        }
        contents(&disk.crash(seed).unwrap(), "/a")
    };
    let outcomes: BTreeSet<Vec<u8>> = (0..20).map(run).collect();
    assert!(outcomes.len() > 10);
    assert!((0..20).all(|seed| run(seed) == run(seed)));
}

#[test]
fn a_name_is_durable_only_after_sync_dir() {
    let survives = |seed, is_synced| {
        let disk = fresh();
        let file = create(&disk, "/a");
        write(&file, b"abc", 0);
        file.sync_data().unwrap();
        if is_synced {
            disk.sync_dir(Path::new("/")).unwrap();
        }
        let disk = disk.crash(seed).unwrap();
        let survives = disk.exists(Path::new("/a")).unwrap();
        assert!(!survives || contents(&disk, "/a") == b"abc", "its bytes were synced");
        survives
    };
    let kept = (0..SEEDS).filter(|seed| survives(*seed, false)).count() as u64;
    assert!(0 < kept && kept < SEEDS, "{kept} of {SEEDS}");
    assert!((0..SEEDS).all(|seed| survives(seed, true)));
}

#[test]
fn a_removed_name_may_come_back_until_sync_dir() {
    let comes_back = |seed, is_synced| {
        let disk = fresh();
        create_durable(&disk, "/a");
        disk.remove_file(Path::new("/a")).unwrap();
        assert!(!disk.exists(Path::new("/a")).unwrap());
        if is_synced {
            disk.sync_dir(Path::new("/")).unwrap();
        }
        disk.crash(seed).unwrap().exists(Path::new("/a")).unwrap()
    };
    assert!((0..SEEDS).any(|seed| comes_back(seed, false)));
    assert!((0..SEEDS).any(|seed| !comes_back(seed, false)));
    assert!((0..SEEDS).all(|seed| !comes_back(seed, true)));
}

#[test]
fn a_replaced_file_is_the_old_one_or_the_new_one() {
    let outcome = |seed| {
        let disk = fresh();
        let old = create_durable(&disk, "/x");
        write(&old, b"old", 0);
        old.sync_data().unwrap();
        let new = create(&disk, "/x.tmp");
        write(&new, b"newer", 0);
        new.sync_data().unwrap();
        disk.rename(Path::new("/x.tmp"), Path::new("/x")).unwrap();
        contents(&disk.crash(seed).unwrap(), "/x")
    };
    let outcomes: BTreeSet<Vec<u8>> = (0..SEEDS).map(outcome).collect();
    assert_eq!(outcomes, BTreeSet::from([b"old".to_vec(), b"newer".to_vec()]));
}

#[test]
fn a_rename_before_the_sync_of_its_bytes_may_leave_an_empty_file() {
    let outcome = |seed| {
        let disk = fresh();
        create_durable(&disk, "/x");
        write(&create(&disk, "/x.tmp"), b"newer", 0);
        disk.rename(Path::new("/x.tmp"), Path::new("/x")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        contents(&disk.crash(seed).unwrap(), "/x")
    };
    assert!((0..SEEDS).any(|seed| outcome(seed).is_empty()));
}

#[test]
fn a_directory_prepared_under_another_name_appears_whole() {
    let seen = |seed, is_synced| {
        let medium = MemoryDisk::default();
        let disk = FaultyDisk::new(Arc::new(medium.clone()), seed);
        disk.create_dir(Path::new("/data/tmp.1")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let file = create(&disk, "/data/tmp.1/0.log");
        write(&file, b"abc", 0);
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/data/tmp.1")).unwrap();
        disk.rename(Path::new("/data/tmp.1"), Path::new("/data/t-0")).unwrap();
        assert_eq!(contents(&disk, "/data/t-0/0.log"), b"abc");
        if is_synced {
            disk.sync_dir(Path::new("/data")).unwrap();
            assert_eq!(contents(&medium, "/data/t-0/0.log"), b"abc");
        }
        let disk = disk.crash(seed).unwrap();
        let names = names(&disk, "/data");
        for name in &names {
            assert_eq!(contents(&disk, &format!("/data/{name}/0.log")), b"abc");
        }
        names
    };
    let outcomes: BTreeSet<Vec<String>> = (0..SEEDS).map(|seed| seen(seed, false)).collect();
    let expected = [vec![], vec!["t-0".to_owned()], vec!["tmp.1".to_owned()]];
    assert_eq!(outcomes, BTreeSet::from(expected));
    assert!((0..SEEDS).all(|seed| seen(seed, true) == ["t-0"]));
}

#[test]
fn a_removed_directory_takes_its_files_with_it() {
    for seed in 0..SEEDS {
        let disk = fresh();
        disk.create_dir(Path::new("/d")).unwrap();
        create(&disk, "/d/a");
        disk.sync_filesystem(Path::new("/")).unwrap();
        create(&disk, "/d/b");
        disk.remove_file(Path::new("/d/a")).unwrap();
        disk.remove_file(Path::new("/d/b")).unwrap();
        disk.remove_dir(Path::new("/d")).unwrap();
        if seed % 2 == 0 {
            disk.sync_dir(Path::new("/")).unwrap();
        }
        let disk = disk.crash(seed).unwrap();
        assert!(seed % 2 == 1 || !disk.exists(Path::new("/d")).unwrap());
    }
}

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
fn the_end_of_a_process_on_the_system_disk_is_a_power_failure() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let disk = FaultyDisk::new(Arc::new(SystemDisk::default()), 5);
    disk.set_write_back(3);
    let file = create_durable(&disk, &path("a"));
    write(&file, &[1; PAGE].repeat(8), 0);
    file.sync_data().unwrap();
    for page in 0..8 {
        write(&file, &[2; PAGE], page * PAGE);
    }
    disk.set_write_back(0);
    create(&disk, &path("b"));
    assert_eq!(contents(&disk, &path("a")), [2; PAGE].repeat(8));

    // The end of the process would lose the disk's memory; only the inner disk remains.
    let system = SystemDisk::default();
    let left = contents(&system, &path("a"));
    let written = pages(&left).into_iter().filter(|byte| *byte == 2).count();
    assert!(0 < written && written < 8, "{written} of 8 pages");
    assert!(!system.exists(Path::new(&path("b"))).unwrap());
}

#[test]
fn a_name_half_made_durable_at_the_end_of_a_process_is_removed() {
    let medium = MemoryDisk::default();
    create(&medium, "/a.streamlog-unfinished");
    let disk = FaultyDisk::new(Arc::new(medium.clone()), 1);
    assert!(names(&disk, "/").is_empty());
    assert!(names(&medium, "/").is_empty());
}
