//! Tests of duplicate detection and its snapshots.

use std::path::Path;
use std::time::Duration;

use crate::io::{Disk, MemoryDisk, OpenMode, write_all_at};
use crate::storage::producers::{
    AppendedBatch, ProducerBatch, ProducerLimits, ProducerStates, SequenceError, Staged, Verdict,
    latest_snapshot, retain_snapshots, write_snapshot,
};
use crate::storage::small_file;
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

const NOW: Duration = Duration::from_secs(7);

fn batch(epoch: i16, base_sequence: i32, record_count: i32, base_offset: i64) -> ProducerBatch {
    ProducerBatch {
        producer_id: ProducerId(9),
        producer_epoch: ProducerEpoch(epoch),
        base_sequence,
        record_count,
        appended: AppendedBatch {
            base_offset: Offset::new(base_offset),
            last_offset: Offset::new(base_offset + i64::from(record_count) - 1),
            max_timestamp: Timestamp::from_millis(base_offset * 10),
        },
    }
}

fn states() -> ProducerStates {
    ProducerStates::new(ProducerLimits::default())
}

/// Checks and, if it is new, records one batch.
fn append(states: &mut ProducerStates, batch: &ProducerBatch) -> Result<Verdict, SequenceError> {
    let mut staged = Staged::default();
    let verdict = states.check(&mut staged, batch)?;
    states.record(staged, NOW);
    Ok(verdict)
}

#[test]
fn any_of_the_last_five_batches_sent_again_is_answered_with_its_offsets() {
    let mut states = states();
    let sent: Vec<_> = (0..6).map(|n| batch(0, n * 2, 2, i64::from(n) * 2)).collect();
    for batch in &sent {
        assert_eq!(append(&mut states, batch), Ok(Verdict::Append));
    }
    for original in &sent[1..] {
        let again = ProducerBatch { appended: batch(0, 0, 2, 500).appended, ..*original };
        assert_eq!(append(&mut states, &again), Ok(Verdict::Duplicate(original.appended)));
    }
    let sixth_last = append(&mut states, &sent[0]);
    assert!(matches!(sixth_last, Err(SequenceError::OutOfOrder { sent: 0, expected: 12, .. })));
}

#[test]
fn a_batch_with_only_one_end_of_a_known_one_is_no_duplicate() {
    let mut states = states();
    append(&mut states, &batch(0, 0, 3, 0)).unwrap();
    assert!(append(&mut states, &batch(0, 0, 2, 3)).is_err());
    assert!(append(&mut states, &batch(0, 1, 2, 3)).is_err());
}

#[test]
fn a_gap_is_refused_and_leaves_no_trace() {
    let mut states = states();
    append(&mut states, &batch(0, 0, 1, 0)).unwrap();
    let gap = append(&mut states, &batch(0, 2, 1, 1));
    assert!(matches!(gap, Err(SequenceError::OutOfOrder { sent: 2, expected: 1, .. })));
    assert_eq!(append(&mut states, &batch(0, 1, 1, 1)), Ok(Verdict::Append));
}

#[test]
fn an_older_epoch_is_fenced_and_a_newer_one_begins_at_zero() {
    let mut states = states();
    append(&mut states, &batch(3, 0, 4, 0)).unwrap();
    assert!(matches!(append(&mut states, &batch(2, 4, 1, 4)), Err(SequenceError::Fenced { .. })));
    assert!(append(&mut states, &batch(4, 4, 1, 4)).is_err());
    assert_eq!(append(&mut states, &batch(4, 0, 4, 4)), Ok(Verdict::Append));
    assert!(
        matches!(append(&mut states, &batch(3, 0, 4, 8)), Err(SequenceError::Fenced { .. })),
        "not a duplicate of an epoch that is over"
    );
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    assert_eq!(append(&mut states(), &batch(5, 1234, 1, 0)), Ok(Verdict::Append));
}

#[test]
fn the_sequence_after_the_largest_is_zero() {
    let mut states = states();
    append(&mut states, &batch(0, i32::MAX - 1, 2, 0)).unwrap();
    assert_eq!(append(&mut states, &batch(0, 0, 1, 2)), Ok(Verdict::Append));

    let across = batch(1, i32::MAX, 3, 10);
    let mut states = self::states();
    append(&mut states, &across).unwrap();
    assert_eq!(append(&mut states, &across), Ok(Verdict::Duplicate(across.appended)));
    assert_eq!(append(&mut states, &batch(1, 2, 1, 13)), Ok(Verdict::Append));
}

#[test]
fn batches_of_one_append_are_judged_one_after_another() {
    let states = states();
    let mut staged = Staged::default();
    let first = batch(0, 0, 2, 0);
    assert_eq!(states.check(&mut staged, &first), Ok(Verdict::Append));
    assert_eq!(states.check(&mut staged, &batch(0, 2, 2, 2)), Ok(Verdict::Append));
    let again = ProducerBatch { appended: batch(0, 0, 2, 4).appended, ..first };
    assert_eq!(states.check(&mut staged, &again), Ok(Verdict::Duplicate(first.appended)));
    assert!(states.check(&mut staged, &batch(0, 5, 1, 4)).is_err());
    assert!(states.is_empty(), "nothing is remembered before it is in the log");
}

#[test]
fn batches_that_were_not_written_leave_no_state() {
    let mut states = states();
    append(&mut states, &batch(0, 0, 1, 0)).unwrap();
    let mut staged = Staged::default();
    states.check(&mut staged, &batch(0, 1, 1, 1)).unwrap();
    drop(staged);
    assert_eq!(append(&mut states, &batch(0, 1, 1, 1)), Ok(Verdict::Append));
}

#[test]
fn a_producer_that_is_not_idempotent_leaves_no_trace() {
    let mut states = states();
    let plain = ProducerBatch { producer_id: ProducerId::NONE, ..batch(-1, -1, 1, 0) };
    assert_eq!(append(&mut states, &plain), Ok(Verdict::Append));
    states.replay(&plain, NOW);
    assert!(states.is_empty());
}

#[test]
fn replay_builds_what_appending_built() {
    let (mut appended, mut replayed) = (states(), states());
    for n in 0..9 {
        let batch = batch(0, n * 3, 3, i64::from(n) * 3);
        append(&mut appended, &batch).unwrap();
        replayed.replay(&batch, NOW);
    }
    let newer = batch(1, 0, 2, 27);
    append(&mut appended, &newer).unwrap();
    replayed.replay(&newer, NOW);
    assert_eq!(snapshot_bytes(&appended, 29), snapshot_bytes(&replayed, 29));
}

#[test]
fn an_inactive_producer_expires_by_the_monotonic_clock() {
    let mut states = states();
    append(&mut states, &batch(0, 0, 1, 0)).unwrap();
    let day = ProducerLimits::default().expiration;
    states.expire(NOW + day.saturating_sub(Duration::from_nanos(1)));
    assert_eq!(states.len(), 1);
    states.expire(NOW + day);
    assert!(states.is_empty());
}

#[test]
fn beyond_the_limit_the_producers_inactive_for_longest_are_removed() {
    let limits = ProducerLimits { producers_max: 80, ..ProducerLimits::default() };
    let mut states = ProducerStates::new(limits);
    for n in 0..1_000 {
        let sent = ProducerBatch { producer_id: ProducerId(n), ..batch(0, 0, 1, n) };
        states.replay(&sent, Duration::from_secs(n.unsigned_abs()));
        assert!(states.len() <= 80, "{} producers", states.len());
    }
    let newest = ProducerBatch { producer_id: ProducerId(999), ..batch(0, 0, 1, 999) };
    assert_eq!(append(&mut states, &newest), Ok(Verdict::Duplicate(newest.appended)));
}

fn snapshot_bytes(states: &ProducerStates, offset: i64) -> Vec<u8> {
    let disk = MemoryDisk::default();
    disk.create_dir(Path::new("/p")).unwrap();
    write_snapshot(&disk, Path::new("/p"), Offset::new(offset), states).unwrap();
    let path = format!("/p/{offset:020}.snapshot");
    small_file::read(&disk, Path::new(&path)).unwrap().unwrap()
}

fn load(disk: &MemoryDisk, end: i64) -> Option<(ProducerStates, Offset)> {
    let limits = ProducerLimits::default();
    latest_snapshot(disk, Path::new("/p"), Offset::new(end), limits, NOW).unwrap()
}

/// A directory with snapshots at 10, 20 and 30, of one, two and three batches.
fn disk_with_snapshots() -> MemoryDisk {
    let disk = MemoryDisk::default();
    let dir = Path::new("/p");
    disk.create_dir(dir).unwrap();
    let mut states = states();
    for n in 0..3 {
        append(&mut states, &batch(0, n * 10, 10, i64::from(n) * 10)).unwrap();
        write_snapshot(&disk, dir, Offset::new(i64::from(n + 1) * 10), &states).unwrap();
    }
    disk
}

#[test]
fn the_latest_snapshot_not_beyond_the_end_is_loaded() {
    let disk = disk_with_snapshots();
    let (mut states, offset) = load(&disk, 29).unwrap();
    assert_eq!(offset, Offset::new(20));
    let last = batch(0, 10, 10, 10);
    assert_eq!(append(&mut states, &last), Ok(Verdict::Duplicate(last.appended)));
    assert_eq!(append(&mut states, &batch(0, 20, 1, 20)), Ok(Verdict::Append));
    assert!(load(&disk, 9).is_none());
}

#[test]
fn a_snapshot_with_any_byte_changed_is_passed_over() {
    let path = Path::new("/p/00000000000000000030.snapshot");
    let sound = small_file::read(&disk_with_snapshots(), path).unwrap().unwrap();
    for (position, byte) in sound.iter().enumerate() {
        let disk = disk_with_snapshots();
        let file = disk.open(path, OpenMode::Write).unwrap();
        let changed = [byte ^ 0x10];
        write_all_at(&*file, &mut [std::io::IoSlice::new(&changed)], position as u64).unwrap();
        assert_eq!(load(&disk, 99).unwrap().1, Offset::new(20), "byte {position}");
    }
    for length in 0..sound.len() {
        let disk = disk_with_snapshots();
        disk.open(path, OpenMode::Write).unwrap().set_len(length as u64).unwrap();
        assert_eq!(load(&disk, 99).unwrap().1, Offset::new(20), "cut to {length}");
    }
}

#[test]
fn a_snapshot_of_a_later_release_is_refused() {
    let disk = disk_with_snapshots();
    let path = Path::new("/p/00000000000000000030.snapshot");
    let mut bytes = vec![0, 2, 42];
    bytes.extend(crc32c::crc32c(&bytes).to_be_bytes());
    small_file::write_new(&disk, path, &bytes).unwrap();
    let limits = ProducerLimits::default();
    let error = latest_snapshot(&disk, Path::new("/p"), Offset::new(99), limits, NOW).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("version 2"), "{error}");
}

#[test]
fn unwanted_snapshots_are_removed() {
    let disk = disk_with_snapshots();
    retain_snapshots(&disk, Path::new("/p"), |offset| offset < Offset::new(30)).unwrap();
    assert_eq!(load(&disk, 99).unwrap().1, Offset::new(20));
}
