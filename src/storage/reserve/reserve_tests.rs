//! Tests of the reserve: the shares of its purposes, and its restoration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, MemoryDisk, OpenMode};
use crate::storage::reserve::{Purpose, Reserve};
use crate::storage::small_file;

const DIR: &str = "/data/reserve";
const FILE: &str = "/data/file";

/// The size of a file system that does not bound the reserve.
const TOTAL: u64 = 1 << 40;

fn disk() -> FaultyDisk {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    disk.create_dir(Path::new("/data")).unwrap();
    disk
}

fn open(disk: &FaultyDisk) -> Arc<Reserve> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Arc::new(Reserve::open(&disk, Path::new(DIR)).unwrap())
}

fn whole(disk: &FaultyDisk) -> Arc<Reserve> {
    let reserve = open(disk);
    assert!(reserve.restore(0, TOTAL).unwrap());
    reserve
}

fn chunks(disk: &FaultyDisk) -> usize {
    let dir = Path::new(DIR);
    if disk.exists(dir).unwrap() { disk.list(dir).unwrap().len() } else { 0 }
}

/// Makes this many writes fail for want of space.
fn fill(disk: &FaultyDisk, writes: u64) {
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on("file.tmp").times(writes));
}

#[test]
fn an_operation_without_space_uses_a_chunk_and_the_reserve_is_refilled() {
    let disk = disk();
    let reserve = whole(&disk);
    assert_eq!(chunks(&disk), 8);
    fill(&disk, 3);
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    small_file::replace(&*upkeep, Path::new(FILE), b"bytes").unwrap();
    assert_eq!(small_file::read(&disk, Path::new(FILE)).unwrap().unwrap(), b"bytes");
    assert_eq!(chunks(&disk), 5);
    assert!(reserve.is_short());
    assert_eq!(reserve.missing(), (3 * 65_536, 8 * 65_536));
    assert!(reserve.restore(0, TOTAL).unwrap());
    assert!(!reserve.is_short());
    assert_eq!(chunks(&disk), 8);
}

#[test]
fn commits_leave_half_of_the_reserve_to_operations_that_free_space() {
    let disk = disk();
    let reserve = whole(&disk);
    fill(&disk, 100);
    let commits = reserve.disk_for(Purpose::Commits);
    let refused = small_file::replace(&*commits, Path::new(FILE), b"bytes").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(chunks(&disk), 4);
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    disk.clear_faults();
    fill(&disk, 4);
    small_file::replace(&*upkeep, Path::new(FILE), b"bytes").unwrap();
    assert_eq!(chunks(&disk), 0);
    fill(&disk, 100);
    assert!(small_file::replace(&*upkeep, Path::new(FILE), b"bytes").is_err());
}

#[test]
fn a_chunk_without_space_is_not_created() {
    let disk = disk();
    let reserve = open(&disk);
    disk.inject(Fault::new(Operation::SetLen, Failure::NoSpace).on("/00003"));
    assert!(!reserve.restore(0, TOTAL).unwrap());
    assert!(reserve.is_short());
    assert_eq!(chunks(&disk), 3);
    assert!(reserve.restore(0, TOTAL).unwrap());
    assert_eq!(chunks(&disk), 8);
}

#[test]
fn the_next_run_uses_the_remaining_chunks() {
    let disk = disk();
    let reserve = whole(&disk);
    fill(&disk, 2);
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    small_file::replace(&*upkeep, Path::new(FILE), b"bytes").unwrap();
    let reserve = open(&disk);
    assert!(!reserve.is_short(), "no operation has needed a missing chunk yet");
    fill(&disk, 1);
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    small_file::replace(&*upkeep, Path::new(FILE), b"more").unwrap();
    assert_eq!(chunks(&disk), 5);
}

#[test]
fn the_reserve_grows_with_the_logs_within_its_share_of_the_disk() {
    let disk = disk();
    let reserve = open(&disk);
    for (logs, total, expected) in
        [(0, TOTAL, 8), (1, TOTAL, 9), (80, TOTAL, 28), (0, 8 << 20, 4), (0, 1 << 20, 0)]
    {
        assert!(reserve.restore(logs, total).unwrap());
        assert_eq!(chunks(&disk), expected, "{logs} logs on {total} bytes");
    }
}

#[test]
fn a_failed_sync_uses_no_chunk() {
    let disk = disk();
    let reserve = whole(&disk);
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    disk.inject(Fault::new(Operation::SyncData, Failure::NoSpace).on("file.tmp"));
    assert!(small_file::replace(&*upkeep, Path::new(FILE), b"bytes").is_err());
    assert_eq!(chunks(&disk), 8);
}

#[test]
fn every_shortage_of_space_is_reported() {
    let disk = disk();
    let reserve = whole(&disk);
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    reserve.on_shortage(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    reserve.note_refusal();
    assert!(reserve.take_refusal());
    assert!(!reserve.take_refusal());
    fill(&disk, 1);
    let path = PathBuf::from(format!("{FILE}.tmp"));
    let upkeep = reserve.disk_for(Purpose::Upkeep);
    let file = upkeep.open(&path, OpenMode::Create).unwrap();
    file.write_at(&[std::io::IoSlice::new(b"x")], 0).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), 2);
}
