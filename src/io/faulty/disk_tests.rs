//! Tests of the faulty disk: the data that it keeps and loses in a power failure.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::FaultyDisk;
use crate::io::{Disk, File, MemoryDisk, OpenMode, SystemDisk, read_exact_at};

pub(super) const PAGE: usize = 4096;
pub(super) const SEEDS: u64 = 500;

pub(super) fn fresh() -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), 1)
}

pub(super) fn create(disk: &dyn Disk, path: &str) -> Arc<dyn File> {
    disk.open(Path::new(path), OpenMode::Create).unwrap()
}

/// A new file whose name is durable already.
pub(super) fn create_durable(disk: &dyn Disk, path: &str) -> Arc<dyn File> {
    let file = create(disk, path);
    disk.sync_dir(Path::new(path).parent().unwrap()).unwrap();
    file
}

pub(super) fn write(file: &Arc<dyn File>, bytes: &[u8], position: usize) {
    assert_eq!(file.write_at(&[IoSlice::new(bytes)], position as u64).unwrap(), bytes.len());
}

pub(super) fn contents(disk: &dyn Disk, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

pub(super) fn names(disk: &dyn Disk, path: &str) -> Vec<String> {
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
