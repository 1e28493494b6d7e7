//! Tests of damage to a log's files, in most cases while the log is open.

use std::io::ErrorKind;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, Operation};
use crate::io::{Disk, OpenMode};
use crate::storage::segments::Medium;
use crate::storage::world_tests::{
    EPOCH, NOW, World, append, append_timed, batch, bytes_of, crashed, file, texts, try_values,
    values,
};
use crate::storage::{Damage, Log, LogDamage, ReadLimit, StartPoint, StorageError};
use crate::types::{Offset, Timestamp};

/// Bytes of a batch of one letter.
fn size() -> u64 {
    batch(&["a"]).len() as u64
}

/// A log of seven one-letter batches, all flushed.
fn letters(world: &World) -> Log {
    let log = world.start();
    for value in ["a", "b", "c", "d", "e", "f", "g"] {
        append(&log, &[value]);
    }
    log.flush().unwrap();
    log
}

/// Flips a bit of a batch on the medium, past the page cache.
fn rot(world: &World, segment: i64, number: u64, byte: u64) {
    world.disk.flip_bit(&file(segment, "log"), number * size() + byte, 3).unwrap();
}

fn damage(segment: i64, number: u64) -> Damage {
    let first = Offset::new(segment + i64::try_from(number).unwrap());
    let (start, end) = (number * size(), (number + 1) * size());
    Damage { segment: Offset::new(segment), start, end, first, next: first.next() }
}

/// Checks all segments from the medium and records the findings.
fn check_all(log: &Log) {
    for base in log.checks().segment_bases() {
        let mut check = log.checks().check_segment(base, Medium::Disk).unwrap().unwrap();
        while !check.is_done() {
            let found = check.advance(check.position() + size()).unwrap();
            assert!(log.checks().record(&check, &found));
        }
    }
}

/// A byte of each part of a batch: base offset, length, epoch, magic, checksum, attributes, last
/// offset delta, value.
const BYTES: [u64; 8] = [7, 11, 15, 16, 17, 22, 26, 66];

#[test]
fn a_check_finds_a_flip_in_any_part_of_any_batch_and_its_offsets_are_refused() {
    for byte in BYTES {
        for (segment, number) in [(0, 0), (0, 1), (0, 2), (3, 1), (6, 0)] {
            let world = World::with_segments_of(size() * 3);
            let log = letters(&world);
            rot(&world, segment, number, byte);
            check_all(&log);
            let expected = damage(segment, number);
            assert_eq!(
                log.checks().damages(),
                [expected],
                "byte {byte} of batch {number} of {segment}"
            );
            assert_eq!(log.checks().damage_found(), 1);
            let first = expected.first.get();
            assert_eq!(values(&log, 0, first).len(), usize::try_from(first).unwrap());
            let refused = try_values(&log, first, 7);
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
            let behind = values(&log, first + 1, 7);
            assert_eq!(behind.len(), usize::try_from(6 - first).unwrap());
        }
    }
}

#[test]
fn found_damage_is_known_after_a_restart() {
    let world = World::with_segments_of(size() * 3);
    let log = letters(&world);
    rot(&world, 3, 1, 66);
    check_all(&log);
    let marks = log.close().unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    assert_eq!(log.checks().damages(), [damage(3, 1)]);
    assert_eq!(log.checks().damage_found(), 0, "it was found before");
    assert!(try_values(&log, 4, 5).is_err());
    assert_eq!(texts(&values(&log, 5, 7)), ["f", "g"]);
}

#[test]
fn a_batch_lost_from_a_segments_end_is_damage() {
    let world = World::with_segments_of(size() * 3);
    let log = letters(&world);
    let path = file(0, "log");
    let log_file = world.disk.open(&path, OpenMode::Write).unwrap();
    log_file.set_len(size() * 2).unwrap();
    log_file.sync_data().unwrap();
    let marks = log.close().unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    check_all(&log);
    let expected = Damage { end: size() * 2, ..damage(0, 2) };
    assert_eq!(log.checks().damages(), [expected]);
    assert_eq!(texts(&values(&log, 3, 7)), ["d", "e", "f", "g"]);
}

#[test]
fn a_segment_that_lost_all_its_batches_is_damage_as_a_whole() {
    let world = World::with_segments_of(size() * 3);
    let log = letters(&world);
    let marks = log.close().unwrap();
    world.disk.open(&file(0, "log"), OpenMode::Write).unwrap().set_len(0).unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    for from in 0..3 {
        let refused = try_values(&log, from, 7);
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{from}: {refused:?}");
    }
    let (start, end, next) = (0, 0, Offset::new(3));
    assert_eq!(log.checks().damages(), [Damage { start, end, next, ..damage(0, 0) }]);
    assert_eq!(texts(&values(&log, 3, 7)), ["d", "e", "f", "g"]);
}

#[test]
fn a_read_of_bytes_that_are_not_a_batch_determines_the_extent_of_the_damage() {
    let world = World::with_segments_of(size() * 3);
    let log = letters(&world);
    rot(&world, 3, 1, 16);
    let refused = try_values(&log, 4, 7);
    assert!(
        matches!(refused, Err(StorageError::Corrupt { first, next, .. })
            if (first.get(), next.get()) == (4, 5)),
        "{refused:?}"
    );
    assert_eq!(log.checks().damages(), [damage(3, 1)]);
    assert_eq!(texts(&values(&log, 5, 7)), ["f", "g"]);
}

#[test]
fn a_read_refuses_a_flip_in_any_part_of_a_batch_and_serves_those_before_and_behind() {
    for byte in BYTES {
        for number in 0..3 {
            let world = World::with_segments_of(size() * 3);
            let log = letters(&world);
            assert_eq!(values(&log, 0, 7).len(), 7, "all is sound at first");
            rot(&world, 3, number, byte);
            let first = 3 + i64::try_from(number).unwrap();
            assert_eq!(values(&log, 0, first).len(), usize::try_from(first).unwrap());
            let refused = try_values(&log, 0, 7);
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{byte}: {refused:?}");
            assert_eq!(
                log.checks().damages(),
                [damage(3, number)],
                "byte {byte} of batch {number}"
            );
            assert_eq!(values(&log, first + 1, 7).len(), usize::try_from(6 - first).unwrap());
        }
    }
}

#[test]
fn bytes_evicted_before_they_are_sent_are_checked_again_with_their_headers() {
    for byte in BYTES {
        for (segment, number) in [(0, 0), (0, 1), (0, 2), (3, 1), (6, 0)] {
            let world = World::with_segments_of(size() * 3);
            let log = letters(&world);
            let limit = ReadLimit {
                max_bytes: 1000,
                below: Offset::new(7),
                at_least_one_batch: true,
                keeps_emptied: false,
            };
            let range = log.read(Offset::new(segment), limit).unwrap().unwrap();
            let mut bytes = bytes_of(&range);
            range.file.read_checked(&mut bytes, range.position).unwrap();
            rot(&world, segment, number, byte);
            let refused = range.file.read_checked(&mut bytes, range.position);
            assert!(
                matches!(&refused, Err(error) if error.kind() == ErrorKind::InvalidData),
                "byte {byte} of batch {number} from {segment}: {refused:?}"
            );
        }
    }
}

#[test]
fn the_first_read_after_a_start_checks() {
    for byte in BYTES {
        let world = World::with_segments_of(size() * 3);
        let log = letters(&world);
        let marks = log.close().unwrap();
        rot(&world, 3, 1, byte);
        let (log_start, log_end) = (marks.log_start, marks.durable);
        let log = world.open(StartPoint::Clean { log_start, log_end });
        assert_eq!(values(&log, 0, 4).len(), 4);
        assert!(try_values(&log, 4, 7).is_err(), "byte {byte}");
        assert_eq!(log.checks().damages(), [damage(3, 1)]);
        assert_eq!(texts(&values(&log, 5, 7)), ["f", "g"]);
    }
}

#[test]
fn a_flip_before_a_clean_start_is_refused_and_listed_wherever_it_is() {
    for byte in BYTES {
        for (segment, number) in [(0, 0), (3, 2), (6, 0)] {
            let world = World::with_segments_of(size() * 3);
            let log = letters(&world);
            let marks = log.close().unwrap();
            rot(&world, segment, number, byte);
            let (log_start, log_end) = (marks.log_start, marks.durable);
            let log = world.open(StartPoint::Clean { log_start, log_end });
            let expected = damage(segment, number);
            let first = expected.first.get();
            let refused = try_values(&log, first, 7);
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{byte}: {refused:?}");
            let listed = LogDamage::of(&log).stretches().unwrap();
            let listed: Vec<_> = listed.into_iter().map(|stretch| stretch.damage).collect();
            assert_eq!(listed, [expected], "byte {byte} of batch {number} of {segment}");
            assert_eq!(values(&log, 0, first).len(), usize::try_from(first).unwrap());
            let behind = values(&log, first + 1, 7);
            assert_eq!(behind.len(), usize::try_from(6 - first).unwrap());
        }
    }
}

#[test]
fn a_log_that_is_shorter_than_at_its_close_is_served_up_to_its_end() {
    let world = World::new();
    let log = letters(&world);
    let marks = log.close().unwrap();
    world.disk.open(&file(0, "log"), OpenMode::Write).unwrap().set_len(size() * 5).unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    assert_eq!(values(&log, 0, 5).len(), 5);
    assert!(matches!(try_values(&log, 5, 7), Err(StorageError::Corrupt { .. })));
    let (start, end, next) = (size() * 5, size() * 5, Offset::new(7));
    assert_eq!(log.checks().damages(), [Damage { start, end, next, ..damage(0, 5) }]);
}

#[test]
fn a_log_that_does_not_end_where_it_was_closed_is_recovered_once_a_minute() {
    let world = World::new();
    let log = letters(&world);
    let marks = log.close().unwrap();
    // Append a valid batch to the file after the last one.
    let mut ghost = batch(&["x"]);
    ghost[..8].copy_from_slice(&7_i64.to_be_bytes());
    ghost[12..16].copy_from_slice(&EPOCH.0.to_be_bytes());
    world.overwrite(&file(0, "log"), None, &ghost);
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    let opened = || world.disk.calls(Operation::Open);
    for minute in 1..4 {
        let before = opened();
        assert!(matches!(log.epochs().entries(), Err(StorageError::Corrupt { .. })));
        assert!(opened() > before, "it is recovered in minute {minute}");
        let before = opened();
        for _ in 0..100 {
            assert!(matches!(log.epochs().entries(), Err(StorageError::Corrupt { .. })));
        }
        assert_eq!(opened(), before, "and not again");
        world.clock.advance(Duration::from_mins(1));
    }
}

#[test]
fn a_damaged_log_that_cannot_be_read_is_recovered_at_most_once_a_minute() {
    let world = World::new();
    let log = letters(&world);
    let marks = log.close().unwrap();
    let path = file(0, "log");
    world.disk.open(&path, OpenMode::Write).unwrap().set_len(size() * 5).unwrap();
    let (log_start, log_end) = (marks.log_start, marks.durable);
    let log = world.open(StartPoint::Clean { log_start, log_end });
    let unreadable = Fault::new(Operation::ReadMedium, Failure::InputOutput).on(".log");
    world.disk.inject(unreadable.for_ever());
    let reads = || world.disk.calls(Operation::ReadMedium);
    assert_eq!(reads(), 0);
    assert!(log.epochs().entries().is_err());
    let read = reads();
    assert!(read > 0, "the whole log is read from the medium");
    for _ in 0..100 {
        assert!(matches!(log.epochs().entries(), Err(StorageError::Corrupt { .. })));
    }
    assert_eq!(reads(), read, "and not again at once");
    world.disk.clear_faults();
    world.clock.advance(Duration::from_mins(1));
    assert_eq!(values(&log, 0, 5).len(), 5, "what is left is served");
}

#[test]
fn a_lookup_by_timestamp_returns_no_offset_of_a_damaged_header() {
    for byte in BYTES {
        for after_a_start in [false, true] {
            let world = World::with_segments_of(size() * 3);
            let mut log = letters(&world);
            let found = log.lookups().offset_for_timestamp(NOW).unwrap().unwrap();
            assert_eq!(found.offset, Offset::ZERO);
            log.retention().advance_log_start(Offset::new(4)).unwrap();
            if after_a_start {
                let marks = log.close().unwrap();
                let (log_start, log_end) = (marks.log_start, marks.durable);
                log = world.open(StartPoint::Clean { log_start, log_end });
            }
            rot(&world, 3, 1, byte);
            let refused = log.lookups().offset_for_timestamp(NOW);
            assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{byte}: {refused:?}");
            assert_eq!(log.checks().damages(), [damage(3, 1)], "byte {byte}");
        }
    }
}

#[test]
fn a_time_index_is_rebuilt_from_checked_batches_only() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    append_timed(&log, &[100, 40, 41, 42, 200, 4, 5, 6]);
    let size = log.close().unwrap().durable;
    drop(log);
    for kind in ["index", "timeindex"] {
        world.disk.remove_file(&file(0, kind)).unwrap();
    }
    // The first batch's largest timestamp is now 36 instead of 100.
    world.overwrite(&file(0, "log"), Some(42), &[36]);
    let log = world.open(StartPoint::Clean { log_start: Offset::ZERO, log_end: size });
    // The index is rebuilt before the damage is found.
    assert_eq!(values(&log, 7, 8).len(), 1);
    let found = log.lookups().offset_for_timestamp(Timestamp::from_millis(50));
    assert!(
        matches!(&found, Err(StorageError::Corrupt { first, .. }) if *first == Offset::ZERO),
        "the batch that may have the record is damaged: {found:?}"
    );
}

#[test]
fn truncation_removes_the_damage_above_the_new_end() {
    let world = World::with_segments_of(size() * 3);
    let log = letters(&world);
    for (segment, number) in [(0, 1), (3, 1), (6, 0)] {
        rot(&world, segment, number, 66);
    }
    check_all(&log);
    assert_eq!(log.checks().damages().len(), 3);
    log.truncator().cut(Offset::new(3)).unwrap();
    assert_eq!(log.checks().damages(), [damage(0, 1)]);
    for value in ["x", "y", "z"] {
        append(&log, &[value]);
    }
    assert_eq!(texts(&values(&log, 3, 6)), ["x", "y", "z"]);
    log.flush().unwrap();
    let log = world.open(crashed(6, true));
    assert_eq!(log.checks().damages(), [damage(0, 1)]);
    assert_eq!(texts(&values(&log, 3, 6)), ["x", "y", "z"]);
}

#[test]
fn a_check_records_nothing_about_batches_that_were_replaced_meanwhile() {
    const LARGE: usize = 100_000;
    let world = World::new();
    let log = world.start();
    let fill = |letter: &str, size| {
        for _ in 0..30 {
            append(&log, &[&letter.repeat(size)]);
        }
    };
    fill("a", LARGE);
    log.flush().unwrap();
    world.disk.evict(&file(0, "log")).unwrap();
    let hold = world.disk.hold_reads(LARGE);
    std::thread::scope(|scope| {
        let check = scope.spawn(|| LogDamage::of(&log).check_around(Offset::ZERO));
        assert!(hold.wait_for(1, Duration::from_secs(20)));
        log.truncator().cut(Offset::new(1)).unwrap();
        fill("b", LARGE + 1000);
        drop(hold);
        check.join().unwrap().unwrap();
    });
    assert_eq!(log.checks().damages(), []);
    assert_eq!(values(&log, 0, 31).len(), 31);
}

#[test]
fn digests_of_lost_or_truncated_batches_do_not_blame_others() {
    // The last letter is lost, although its digest was stored.
    for cuts in [false, true] {
        let world = World::new();
        let log = letters(&world);
        let marks = log.close().unwrap();
        let (log_start, log_end) = (marks.log_start, marks.durable);
        let mut log = world.open(StartPoint::Clean { log_start, log_end });
        log.start_epoch(EPOCH).unwrap();
        if cuts {
            log.truncator().cut(Offset::new(6)).unwrap();
        } else {
            drop(log);
            let path = file(0, "log");
            world.disk.open(&path, OpenMode::Write).unwrap().set_len(size() * 6).unwrap();
            log = world.open(crashed(6, false));
            log.start_epoch(EPOCH).unwrap();
        }
        for value in ["x", "y", "z"] {
            append(&log, &[value]);
        }
        log.flush().unwrap();
        drop(log);
        let log = world.open(crashed(9, true));
        check_all(&log);
        assert_eq!(log.checks().damages(), [], "cuts: {cuts}");
        assert_eq!(texts(&values(&log, 5, 9)), ["f", "x", "y", "z"]);
    }
}

#[test]
fn reading_a_neighbour_does_not_verify_a_batch() {
    let world = World::new();
    let log = letters(&world);
    assert_eq!(values(&log, 0, 7).len(), 7);
    rot(&world, 0, 5, 66);
    // The walk to the neighbour reads the damaged page into memory.
    assert_eq!(texts(&values(&log, 0, 1)), ["a"]);
    assert!(try_values(&log, 0, 7).is_err());
    assert_eq!(log.checks().damages(), [damage(0, 5)]);
    assert_eq!(texts(&values(&log, 6, 7)), ["g"]);
}

#[test]
fn a_cold_read_of_a_whole_log_leaves_all_of_it_verified() {
    const BATCHES: i64 = 20;
    const PAGE: u64 = 4096;
    let world = World::new();
    let log = world.start();
    let large = "x".repeat(100_000);
    for _ in 0..BATCHES {
        append(&log, &[&large]);
    }
    log.flush().unwrap();
    let segment = file(0, "log");
    for page in 0..log.size_bytes().unwrap().div_ceil(PAGE) {
        // Two flips restore the bit, and evict the page from memory.
        world.disk.flip_bit(&segment, page * PAGE, 0).unwrap();
        world.disk.flip_bit(&segment, page * PAGE, 0).unwrap();
    }
    let one = |offset| {
        (
            Offset::new(offset),
            ReadLimit {
                max_bytes: 1,
                below: Offset::new(BATCHES),
                at_least_one_batch: true,
                keeps_emptied: false,
            },
        )
    };
    let look = |offset| {
        let (from, limit) = one(offset);
        log.reads().find_extent(from, limit).unwrap().unwrap()
    };
    assert!(!look(0).is_verified());
    for offset in 0..BATCHES {
        let (from, limit) = one(offset);
        assert!(log.read(from, limit).unwrap().is_some());
    }
    for offset in 0..BATCHES {
        assert!(look(offset).is_verified(), "batch {offset} has to be checked again");
    }
}

#[test]
fn a_read_without_room_for_a_batch_checks_nothing() {
    let world = World::new();
    let log = world.start();
    let large = "x".repeat(100_000);
    for _ in 0..20 {
        append(&log, &[&large]);
    }
    let log = world.reopen(&log);
    world.disk.evict(&file(0, "log")).unwrap();
    let limit = ReadLimit {
        max_bytes: 10,
        below: Offset::new(20),
        at_least_one_batch: false,
        keeps_emptied: false,
    };
    let before = world.disk.calls(Operation::Read);
    assert!(log.read(Offset::new(3), limit).unwrap().is_none());
    let reads = world.disk.calls(Operation::Read) - before;
    assert!(reads < 8, "{reads} reads for a batch that has no room");
}
