//! Tests of the epoch history.

use std::path::Path;
use std::sync::Arc;

use crate::io::{Disk, MemoryDisk};
use crate::storage::{EpochCache, EpochStart, Stored, small_file};
use crate::types::{LeaderEpoch, Offset};

const DIR: &str = "/p";

fn disk() -> Arc<MemoryDisk> {
    let disk = MemoryDisk::default();
    disk.create_dir(Path::new(DIR)).unwrap();
    Arc::new(disk)
}

fn cache(disk: &Arc<MemoryDisk>, entries: &[(i32, i64)]) -> EpochCache {
    let mut cache = EpochCache::new(disk.clone(), Path::new(DIR));
    for (epoch, start) in entries {
        cache.assign(LeaderEpoch(*epoch), Offset::new(*start)).unwrap();
    }
    cache
}

fn entries(cache: &EpochCache) -> Vec<(i32, i64)> {
    cache.entries().iter().map(|EpochStart { epoch, start }| (epoch.0, start.get())).collect()
}

fn reloaded(disk: &Arc<MemoryDisk>) -> Vec<(i32, i64)> {
    match EpochCache::load(disk.clone(), Path::new(DIR)).unwrap() {
        Stored::Sound(cache) => entries(&cache),
        other => panic!("{other:?}"),
    }
}

fn end_offset_for(cache: &EpochCache, epoch: i32) -> Option<(i32, i64)> {
    let answer = cache.end_offset_for(LeaderEpoch(epoch), Offset::new(100));
    answer.map(|(epoch, offset)| (epoch.0, offset.get()))
}

#[test]
fn the_end_of_an_epoch_is_the_start_of_the_next() {
    let cache = cache(&disk(), &[(2, 10), (4, 30), (7, 60)]);
    assert_eq!(end_offset_for(&cache, -1), None, "undefined");
    assert_eq!(end_offset_for(&cache, 7), Some((7, 100)), "the latest ends with the log");
    assert_eq!(end_offset_for(&cache, 8), None, "newer than all");
    assert_eq!(end_offset_for(&cache, 1), Some((1, 10)), "older than all");
    assert_eq!(end_offset_for(&cache, 2), Some((2, 30)));
    assert_eq!(end_offset_for(&cache, 5), Some((4, 60)), "skipped: the one below it");
    let empty = EpochCache::new(disk(), Path::new(DIR));
    assert_eq!(end_offset_for(&empty, 0), None);
}

#[test]
fn an_assigned_epoch_is_in_the_file() {
    let disk = disk();
    let cache = cache(&disk, &[(0, 0), (3, 12)]);
    assert_eq!(reloaded(&disk), entries(&cache));
    let path = Path::new(DIR).join("leader-epoch-checkpoint");
    let bytes = small_file::read(&*disk, &path).unwrap().unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), "0\n2\n0 0\n3 12\n");
}

#[test]
fn an_epoch_that_appended_nothing_gives_way() {
    let disk = disk();
    assert_eq!(entries(&cache(&disk, &[(0, 0), (3, 12), (4, 12)])), [(0, 0), (4, 12)]);
    assert_eq!(entries(&cache(&disk, &[(1, 0), (4, 12), (2, 12)])), [(1, 0), (2, 12)]);
    assert_eq!(entries(&cache(&disk, &[(1, 0), (4, 12), (1, 12)])), [(1, 0)]);
    assert_eq!(reloaded(&disk), [(1, 0)]);
}

#[test]
fn an_epoch_assigned_again_changes_nothing() {
    assert_eq!(entries(&cache(&disk(), &[(0, 0), (3, 12), (3, 40)])), [(0, 0), (3, 12)]);
}

#[test]
fn an_epoch_below_one_that_has_records_may_not_follow() {
    let cache = cache(&disk(), &[(2, 0), (4, 12)]);
    assert!(!cache.may_follow(LeaderEpoch(3), Offset::new(13)));
    assert!(cache.may_follow(LeaderEpoch(3), Offset::new(12)), "epoch 4 has no record yet");
    assert!(!cache.may_follow(LeaderEpoch(1), Offset::new(12)));
    assert!(cache.may_follow(LeaderEpoch(4), Offset::new(13)));
    assert!(!cache.may_follow(LeaderEpoch::NONE, Offset::new(13)));
}

#[test]
fn truncation_forgets_the_epochs_beyond() {
    let disk = disk();
    let mut cache = cache(&disk, &[(0, 0), (3, 12), (5, 40)]);
    cache.truncate_to(Offset::new(13)).unwrap();
    assert_eq!(entries(&cache), [(0, 0), (3, 12)]);
    cache.truncate_to(Offset::new(12)).unwrap();
    assert_eq!(entries(&cache), [(0, 0)]);
    assert_eq!(reloaded(&disk), [(0, 0)]);
}

#[test]
fn the_epoch_in_force_at_the_log_start_begins_there() {
    let disk = disk();
    let mut cache = cache(&disk, &[(0, 0), (3, 12), (5, 40)]);
    cache.advance_start(Offset::new(20)).unwrap();
    assert_eq!(entries(&cache), [(3, 20), (5, 40)]);
    assert_eq!(reloaded(&disk), [(3, 20), (5, 40)]);
    cache.advance_start(Offset::new(40)).unwrap();
    assert_eq!(entries(&cache), [(5, 40)]);
    cache.advance_start(Offset::new(10)).unwrap();
    assert_eq!(entries(&cache), [(5, 40)], "it never goes back");
}

#[test]
fn the_epoch_of_an_offset_is_the_last_to_begin_at_or_below_it() {
    let cache = cache(&disk(), &[(2, 10), (4, 30)]);
    let epoch_at = |offset| cache.epoch_at(Offset::new(offset)).map(|epoch| epoch.0);
    assert_eq!([9, 10, 29, 30].map(epoch_at), [None, Some(2), Some(2), Some(4)]);
}

#[test]
fn a_history_that_does_not_rise_is_damage() {
    let disk = disk();
    let path = Path::new(DIR).join("leader-epoch-checkpoint");
    assert!(matches!(EpochCache::load(disk.clone(), Path::new(DIR)).unwrap(), Stored::Absent));
    for text in [
        "",
        "x\n",
        "0\n",
        "0\n1\n",
        "0\n2\n1 0\n1 5\n",
        "0\n2\n1 5\n2 5\n",
        "0\n1\n-1 0\n",
        "0\n1\n1 -1\n",
    ] {
        small_file::write_new(&*disk, &path, text.as_bytes()).unwrap();
        let loaded = EpochCache::load(disk.clone(), Path::new(DIR)).unwrap();
        assert!(matches!(loaded, Stored::Damaged(_)), "{text:?} passed");
    }
    small_file::write_new(&*disk, &path, b"1\n0\n").unwrap();
    let error = EpochCache::load(disk.clone(), Path::new(DIR)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
