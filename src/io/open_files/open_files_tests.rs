//! Tests of the cache of open files.

use std::io::{ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

use super::ring::Entry;
use super::{CachedFile, OpenFiles, Share};
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{
    Disk, File, ManualClock, MemoryDisk, OpenMode, ReportingDisk, SeededRandom, SystemDisk,
    is_displaced, is_failed_sync, read_exact_at,
};

/// A disk and a cache of up to `files` of its files.
fn world(files: usize) -> (FaultyDisk, OpenFiles) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 7);
    let cache = OpenFiles::new(Arc::new(disk.clone()), Share::Fixed(files));
    (disk, cache)
}

/// A new, durable file whose content is its name.
fn made(cache: &OpenFiles, name: &str) -> Arc<CachedFile> {
    let disk: Arc<dyn Disk> = Arc::new(cache.clone());
    let file = CachedFile::at(cache, &disk, PathBuf::from(name));
    file.create().unwrap();
    write(&file, name);
    file.sync_data().unwrap();
    file
}

fn write(file: &CachedFile, text: &str) {
    assert_eq!(file.write_at(&[IoSlice::new(text.as_bytes())], 0).unwrap(), text.len());
}

fn read(file: &CachedFile, length: usize) -> String {
    let mut bytes = vec![0; length];
    read_exact_at(file, &mut bytes, 0).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn open_ones(files: &[Arc<CachedFile>]) -> Vec<usize> {
    (0..files.len()).filter(|number| files[*number].is_open()).collect()
}

#[test]
fn no_more_files_are_open_than_may_be_and_all_can_be_read() {
    let (_, cache) = world(3);
    let files: Vec<_> = (0..20).map(|number| made(&cache, &format!("/{number:03}"))).collect();
    assert_eq!(cache.open_count(), 3);
    for (number, file) in files.iter().enumerate() {
        assert_eq!(read(file, 4), format!("/{number:03}"));
        assert!(cache.open_count() <= 3, "{cache:?}");
    }
    assert_eq!(open_ones(&files).len(), 3);
}

#[test]
fn recently_used_files_stay_open_and_others_are_closed_first() {
    let (_, cache) = world(3);
    let files: Vec<_> = (0..3).map(|number| made(&cache, &format!("/{number}"))).collect();
    // The first search for a descriptor clears all marks of use.
    let other = made(&cache, "/other");
    let left = open_ones(&files);
    assert_eq!(left.len(), 2, "{left:?}");
    read(&files[left[1]], 1);
    drop(other);
    let _two = [made(&cache, "/a"), made(&cache, "/b")];
    assert!(files[left[1]].is_open(), "it was read meanwhile");
    assert!(!files[left[0]].is_open(), "it was not");
}

#[test]
fn a_file_with_unsynced_bytes_is_closed_after_a_sync_only() {
    let (disk, cache) = world(2);
    let (file, other) = (made(&cache, "/dirty"), made(&cache, "/other"));
    write(&file, "more");
    let before = disk.calls(Operation::SyncData);
    let _third = made(&cache, "/third");
    assert_eq!(open_ones(&[file.clone(), other.clone()]), [0], "the other one needed no sync");
    assert_eq!(disk.calls(Operation::SyncData), before + 1, "only the sync by `made`");
    write(&other, "else");
    assert_eq!(disk.calls(Operation::SyncData), before + 1);
    assert_eq!(open_ones(&[file.clone(), other.clone()]), [0, 1], "the third one was closed");
    let _fourth = made(&cache, "/fourth");
    assert_eq!(disk.calls(Operation::SyncData), before + 3, "one by `made`, and one to make room");
    assert_eq!(open_ones(&[file.clone(), other.clone()]), [1], "the older one made room");
    assert_eq!(cache.open_count(), 2);
    assert_eq!(read(&file, 4), "more");
}

#[test]
fn a_sync_of_the_file_system_covers_earlier_writes() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/dirty");
    let syncs_to_close = |is_covered: bool| {
        write(&file, "more");
        let before = file.changes();
        write(&file, "else");
        disk.sync_filesystem(Path::new("/")).unwrap();
        file.note_synced(if is_covered { file.changes() } else { before }).unwrap();
        let calls = disk.calls(Operation::SyncData);
        assert_eq!(cache.release(1), 1);
        assert!(!file.is_open());
        disk.calls(Operation::SyncData) - calls
    };
    assert_eq!(syncs_to_close(false), 1, "it was written to since");
    assert_eq!(syncs_to_close(true), 0);
}

#[test]
fn a_call_without_a_descriptor_closes_a_file_of_the_cache() {
    let (disk, cache) = world(10);
    let files: Vec<_> = (0..10).map(|number| made(&cache, &format!("/{number}"))).collect();
    disk.inject(Fault::new(Operation::SyncDir, Failure::TooManyOpenFiles).times(1));
    cache.sync_dir(Path::new("/")).unwrap();
    assert_eq!(open_ones(&files), [] as [usize; 0], "up to 16 are closed at a time");
    read(&files[0], 1);
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).times(1));
    read(&files[1], 1);
    assert_eq!(open_ones(&files), [1]);
}

#[test]
fn without_a_descriptor_anywhere_a_call_fails_and_has_done_nothing() {
    let (disk, cache) = world(10);
    let file = made(&cache, "/a");
    cache.release(1);
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).for_ever());
    assert!(file.write_at(&[IoSlice::new(b"b")], 0).is_err());
    assert!(file.pin().is_err());
    disk.clear_faults();
    assert_eq!(read(&file, 2), "/a");
    // A write that was never tried does not make the file dirty.
    assert_eq!(cache.release(1), 1);
}

#[test]
fn unsynced_files_are_synced_and_closed_when_descriptors_run_out() {
    let (disk, cache) = world(2);
    let files: Vec<_> = (0..2).map(|number| made(&cache, &format!("/{number}"))).collect();
    for file in &files {
        write(file, "x");
    }
    let before = disk.calls(Operation::SyncData);
    assert_eq!(cache.release(1), 1);
    assert_eq!(disk.calls(Operation::SyncData), before + 1);
    assert_eq!(cache.open_count(), 1);
}

#[test]
fn a_failed_early_sync_is_reported_to_the_next_caller_that_syncs() {
    for by_file_system in [false, true] {
        let (disk, cache) = world(1);
        let file = made(&cache, "/a");
        write(&file, "x");
        disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).times(1));
        assert_eq!(cache.release(1), 0);
        let told = if by_file_system { file.note_synced(file.changes()) } else { file.sync_data() };
        assert!(is_failed_sync(&told.unwrap_err()));
        assert!(file.is_open());
    }
}

#[test]
fn a_pinned_file_stays_open() {
    let (_, cache) = world(1);
    let file = made(&cache, "/a");
    let pin = file.pin().unwrap();
    let _other = made(&cache, "/b");
    assert_eq!(cache.release(1), 1, "the other one");
    assert!(file.is_open());
    drop(pin);
    assert_eq!(cache.release(1), 1);
    assert!(!file.is_open());
}

#[test]
fn a_file_that_is_kept_open_survives_its_name() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/old");
    cache.release(1);
    file.keep_open().unwrap();
    disk.remove_file(Path::new("/old")).unwrap();
    let replacement = made(&cache, "/new");
    disk.rename(Path::new("/new"), Path::new("/old")).unwrap();
    replacement.set_renamed("/old".into());
    assert_eq!(cache.release(10), 1);
    assert_eq!(read(&file, 4), "/old", "a reader of the old file still reads it");
    assert_eq!(read(&replacement, 4), "/new");
}

#[test]
fn a_retired_file_is_closed_at_once_and_found_only_after_it_is_reinstated() {
    let (_, cache) = world(4);
    let file = made(&cache, "/a");
    write(&file, "unsynced");
    file.retire();
    assert_eq!(cache.open_count(), 0);
    let refused = file.read_at(&mut [0], 0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    file.reinstate();
    assert_eq!(read(&file, 8), "unsynced");
}

#[test]
fn a_removed_file_that_was_durable_needs_no_sync() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/a");
    cache.release(1);
    disk.remove_file(Path::new("/a")).unwrap();
    file.sync_data().unwrap();
    assert_eq!(file.len().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn another_file_under_the_same_name_is_rejected() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/a");
    cache.release(1);
    disk.remove_file(Path::new("/a")).unwrap();
    let _successor = made(&cache, "/a");
    for refused in [file.read_at(&mut [0], 0).map(drop), file.sync_data()] {
        assert!(is_displaced(&refused.unwrap_err()));
    }
}

#[test]
fn another_file_with_the_same_inode_number_is_rejected() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a");
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk::default());
    let cache = OpenFiles::new(Arc::clone(&disk), Share::Fixed(1));
    let file = CachedFile::at(&cache, &disk, path.clone());
    file.create().unwrap();
    file.sync_data().unwrap();
    assert_eq!(cache.release(1), 1);
    let number = disk.inode(&path).unwrap().number;
    disk.remove_file(&path).unwrap();
    // Some file systems give the next file the same inode number, others never do.
    let again = disk.open(&path, OpenMode::CreateNew).unwrap().inode().unwrap();
    let refused = file.read_at(&mut [0], 0).unwrap_err();
    assert!(is_displaced(&refused), "{number} and {again:?}: {refused}");
}

#[test]
fn creating_a_file_accepts_any_file_at_its_path() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/a");
    cache.release(1);
    disk.remove_file(Path::new("/a")).unwrap();
    file.create().unwrap();
    assert_eq!(file.len().unwrap(), 0);
    cache.release(1);
    write(&file, "b");
    assert_eq!(read(&file, 1), "b");
}

#[test]
fn a_file_that_cannot_be_opened_does_not_count_as_cached() {
    let (disk, cache) = world(1);
    let file = made(&cache, "/a");
    assert!(file.is_cached(0, 2));
    cache.release(1);
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).for_ever());
    assert!(!file.is_cached(0, 2));
}

#[test]
fn reading_ahead_and_looking_at_the_cache_reach_the_file() {
    let (disk, cache) = world(1);
    made(&cache, "/a");
    let clock = Arc::new(ManualClock::default());
    let above = ReportingDisk::new(Arc::new(cache.clone()), clock, Box::new(|| ()));
    let above: Arc<dyn Disk> = Arc::new(above);
    let file = CachedFile::at(&cache, &above, "/a".into());
    assert!(file.is_cached(0, 2));
    disk.flip_bit(Path::new("/a"), 0, 0).unwrap();
    assert!(!file.is_cached(0, 2), "the page is gone from memory");
    file.read_ahead(0, 2);
    assert!(file.is_cached(0, 2));
}

#[test]
fn files_that_come_and_go_leave_nothing_behind() {
    let (_, cache) = world(1000);
    for number in 0..2000 {
        drop(made(&cache, &format!("/{}", number % 7)));
    }
    assert_eq!(cache.open_count(), 0);
    assert!(cache.ring_len() < 200, "{} entries", cache.ring_len());
}

#[test]
fn descriptors_of_connections_reduce_the_share_of_files() {
    let cache = OpenFiles::new(Arc::new(MemoryDisk::default()), Share::OfProcess);
    let free = cache.limit();
    let files: Vec<_> = (0..20).map(|number| made(&cache, &format!("/{number}"))).collect();
    cache.leave_to_others(usize::MAX);
    assert!(cache.limit() < free && cache.open_count() <= cache.limit(), "{cache:?}");
    assert!(open_ones(&files).len() <= cache.limit());
}

#[test]
fn threads_that_read_and_write_under_pressure_always_find_their_own_bytes() {
    let (_, cache) = world(2);
    let work = |seed: u64| {
        let cache = cache.clone();
        move || {
            let name = |number| format!("/{seed}-{number}");
            let files: Vec<_> = (0..4).map(|number| made(&cache, &name(number))).collect();
            let mut random = SeededRandom::new(seed);
            for round in 0..500 {
                let number = random.index(files.len());
                let file = &files[number];
                assert_eq!(read(file, 4), name(number));
                if round % 5 == 0 {
                    write(file, &name(number));
                    file.sync_data().unwrap();
                }
            }
        }
    };
    let threads: Vec<_> = (1..5).map(|seed| thread::spawn(work(seed))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    cache.release(usize::MAX);
    assert_eq!(cache.open_count(), 0);
}
