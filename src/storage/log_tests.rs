//! Tests of a partition's log on a working disk.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::Operation;
use crate::io::{Disk, OpenMode, write_all_at};
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Batches, Compression, Compressor, TimestampType,
};
use crate::storage::world_tests::{
    EPOCH, NOW, World, append, append_at, append_batch, at, batch, bytes_of, file, stamp, stamped,
    try_values, values,
};
use crate::storage::{AppendAt, Appended, Log, ReadLimit, StartPoint, StorageError};
use crate::types::{LeaderEpoch, Offset, Timestamp};

#[test]
fn appended_batches_are_read_back_with_offsets_and_epoch() {
    let world = World::new();
    let log = world.start();
    assert_eq!(append(&log, &["a", "b"]).base_offset, Offset::ZERO);
    assert_eq!(append(&log, &["c"]).next_offset, Offset::new(3));
    assert_eq!(values(&log, 0, 3), [(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())]);
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(3),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let range = log.read(Offset::new(1), limit).unwrap().unwrap();
    let bytes = bytes_of(&range);
    let first = Batch::parse(&bytes).unwrap();
    assert_eq!((first.base_offset(), first.leader_epoch()), (Offset::ZERO, EPOCH));
}

#[test]
fn a_read_ends_with_a_whole_batch_below_the_given_offset() {
    let world = World::new();
    let log = world.start();
    for value in ["a", "b", "c", "d"] {
        append(&log, &[value, value]);
    }
    let size = log.size_bytes().unwrap() / 4;
    let read = |from, below, max_bytes, at_least_one_batch| {
        let limit = ReadLimit {
            max_bytes,
            below: Offset::new(below),
            at_least_one_batch,
            keeps_emptied: false,
        };
        log.read(Offset::new(from), limit).unwrap().map(|range| (range.position, range.length))
    };
    assert_eq!(read(0, 8, 1 << 20, true), Some((0, size * 4)));
    assert_eq!(read(3, 6, 1 << 20, true), Some((size, size * 2)));
    assert_eq!(read(0, 7, 1 << 20, true), Some((0, size * 3)), "the last batch ends above 7");
    assert_eq!(read(0, 1, 1 << 20, true), None);
    assert_eq!(read(2, 8, size * 3 - 1, true), Some((size, size * 2)));
    assert_eq!(read(2, 8, 1, true), Some((size, size)));
    assert_eq!(read(2, 8, 1, false), None);
    assert_eq!(read(8, 8, 1 << 20, true), None);
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(8),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    assert!(matches!(
        log.read(Offset::new(9), limit),
        Err(StorageError::OffsetOutOfRange { end, .. }) if end == Offset::new(8)
    ));
}

#[test]
fn a_full_segment_is_followed_by_one_named_by_its_base_offset() {
    let world = World::with_segments_of(200);
    let log = world.start();
    for n in 0..9 {
        append(&log, &[&n.to_string()]);
    }
    log.flush().unwrap();
    assert_eq!(world.segments(), [0, 2, 4, 6, 8]);
    assert_eq!(values(&log, 0, 9).len(), 9);
    assert_eq!(values(&log, 5, 8).first(), Some(&(5, "5".to_owned())));
}

#[test]
fn a_flush_publishes_the_offset_and_then_calls_the_listener() {
    let world = World::with_segments_of(200);
    let log = world.start();
    let told = Arc::new(AtomicI64::new(-1));
    let heard = Arc::clone(&told);
    log.flushes().listen(move |offset| heard.store(offset.get(), Ordering::Relaxed));
    append(&log, &["a"]);
    assert_eq!((log.flushed_offset(), log.log_end_offset()), (Offset::ZERO, Offset::new(1)));
    append(&log, &["b", "c", "d", "e", "f"]);
    assert_eq!(log.flush().unwrap(), Offset::new(6));
    assert_eq!((log.flushed_offset().get(), told.load(Ordering::Relaxed)), (6, 6));
}

#[test]
fn only_the_last_listener_is_called_after_a_flush() {
    let world = World::with_segments_of(200);
    let log = world.start();
    let told = [(); 2].map(|()| Arc::new(AtomicI64::new(-1)));
    for listener in &told {
        let heard = Arc::clone(listener);
        log.flushes().listen(move |offset| heard.store(offset.get(), Ordering::Relaxed));
        append(&log, &["a"]);
        log.flush().unwrap();
    }
    assert_eq!(told.map(|offset| offset.load(Ordering::Relaxed)), [1, 2]);
}

#[test]
fn a_closed_log_continues_where_it_ended() {
    let world = World::with_segments_of(300);
    let log = world.start();
    for n in 0..20 {
        append(&log, &[&n.to_string()]);
    }
    let log = world.reopen(&log);
    let at = AppendAt { epoch: LeaderEpoch(4), now: NOW };
    assert_eq!(append_at(&log, &["new"], at).unwrap().base_offset, Offset::new(20));
    assert_eq!(values(&log, 0, 21).len(), 21);
    assert_eq!(log.epochs().end_offset_for(EPOCH).unwrap(), Some((EPOCH, Offset::new(20))));
}

#[test]
fn a_closed_log_takes_no_records_and_an_old_epoch_is_refused() {
    let world = World::new();
    let log = world.start();
    append(&log, &["a"]);
    let stale = AppendAt { epoch: LeaderEpoch(2), now: NOW };
    assert!(matches!(
        append_at(&log, &["b"], stale),
        Err(StorageError::EpochMismatch { current, .. }) if current == EPOCH
    ));
    log.close().unwrap();
    assert!(matches!(append_at(&log, &["b"], at()), Err(StorageError::Closed { .. })));
    assert_eq!(values(&log, 0, 1).len(), 1);
}

#[test]
fn a_duplicate_batch_is_answered_with_its_first_offsets_even_after_a_restart() {
    let world = World::with_segments_of(300);
    let log = world.start();
    let mut first = stamped(&["a", "b"], Some(stamp(0)));
    let mut again = stamped(&["a", "b"], Some(stamp(0)));
    let mut gap = stamped(&["x"], Some(stamp(9)));
    let mut plain = batch(&["p"]);
    let outcomes = log.append(&mut [&mut first, &mut again, &mut gap, &mut plain], at()).unwrap();
    assert!(!outcomes[0].unwrap().is_duplicate);
    assert_eq!(outcomes[1].unwrap(), Appended { is_duplicate: true, ..outcomes[0].unwrap() });
    assert!(outcomes[2].is_err());
    assert_eq!(outcomes[3].unwrap().base_offset, Offset::new(2));
    let log = world.reopen(&log);
    let at = AppendAt { epoch: LeaderEpoch(4), now: NOW };
    let mut third = stamped(&["a", "b"], Some(stamp(0)));
    let outcomes = log.append(&mut [&mut third], at).unwrap();
    assert_eq!(outcomes[0].unwrap().base_offset, Offset::ZERO);
    assert_eq!(log.log_end_offset(), Offset::new(3));
}

#[test]
fn a_wrong_index_is_rebuilt() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    for n in 0..50 {
        append(&log, &[&n.to_string()]);
    }
    let log = {
        log.close().unwrap();
        let index = &file(0, "index");
        let file = world.disk.open(index, OpenMode::Write).unwrap();
        let length = usize::try_from(file.len().unwrap()).unwrap();
        assert!(length > 80);
        let lies: Vec<u8> = (0..length).map(|at| u8::from(at % 4 == 3)).collect();
        write_all_at(&*file, &mut [std::io::IoSlice::new(&lies)], 0).unwrap();
        world.open(StartPoint::Clean { log_start: Offset::ZERO, log_end: Offset::new(50) })
    };
    for from in [0, 1, 17, 49] {
        assert_eq!(values(&log, from, 50).len(), usize::try_from(50 - from).unwrap());
    }
}

#[test]
fn an_absent_index_is_rebuilt_once() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(1000);
    let log = world.start();
    let value = "x".repeat(10_000);
    for _ in 0..500 {
        append(&log, &[&value]);
    }
    log.tail().roll(NOW).unwrap();
    log.close().unwrap();
    let clean = StartPoint::Clean { log_start: Offset::ZERO, log_end: Offset::new(500) };
    let reads_of_last = |log: &Log| {
        let before = world.disk.calls(Operation::Read);
        assert_eq!(values(log, 499, 500).len(), 1);
        world.disk.calls(Operation::Read) - before
    };
    let log = world.open(clean);
    let _all_files_looked_at = reads_of_last(&log);
    let indexed = reads_of_last(&log);

    for kind in ["index", "timeindex"] {
        world.disk.remove_file(&file(0, kind)).unwrap();
    }
    let log = world.open(clean);
    let walked = reads_of_last(&log);
    assert!(walked > indexed, "{walked} reads");
    let again = reads_of_last(&log);
    assert!(again <= indexed, "{again} reads, {indexed} with an index");
    assert_eq!(
        log.lookups().offset_for_timestamp(NOW).unwrap().map(|at| at.offset),
        Some(Offset::ZERO)
    );
}

#[test]
fn an_index_that_is_removed_while_its_file_is_closed_is_rebuilt() {
    let mut world = World::with_segments_of(1000);
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    for n in 0..60 {
        append(&log, &[&n.to_string()]);
    }
    log.flush().unwrap();
    log.checkpoints().advance().unwrap();
    let bases = world.segments();
    assert!(bases.len() > 3, "{bases:?}");
    assert_eq!(values(&log, 0, 60).len(), 60);
    log.context().files.release(usize::MAX);
    assert_eq!(log.context().files.open_count(), 0);
    for base in &bases {
        for kind in ["index", "timeindex"] {
            // The active segment has no index files yet.
            let _ = world.disk.remove_file(&file(*base, kind));
        }
    }
    for from in [0, 1, 30, 59] {
        assert_eq!(values(&log, from, 60).len(), usize::try_from(60 - from).unwrap());
        assert!(log.lookups().offset_for_timestamp(NOW).unwrap().is_some());
    }
    append(&log, &["60"]);
    log.tail().roll(NOW).unwrap();
    log.flush().unwrap();
    log.checkpoints().advance().unwrap();
    log.close().unwrap();
    assert!(!world.bytes(&file(*bases.last().unwrap(), "index")).is_empty());
}

#[test]
fn without_an_index_damage_does_not_hide_the_batches_before_and_after_it() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    for n in 0..50 {
        append(&log, &[&n.to_string()]);
    }
    log.tail().roll(NOW).unwrap();
    log.close().unwrap();
    world.disk.remove_file(&file(0, "index")).unwrap();
    let bytes = world.bytes(&file(0, "log")).len() as u64;
    world.overwrite(&file(0, "log"), Some(bytes / 50 * 40), &[0xff; 60]);
    let log = world.open(StartPoint::Clean { log_start: Offset::ZERO, log_end: Offset::new(50) });
    for _ in 0..2 {
        assert_eq!(values(&log, 20, 21).len(), 1);
        assert!(try_values(&log, 0, 50).is_err(), "the damage is not served");
        assert_eq!(values(&log, 45, 46).len(), 1, "it lies after the damage");
    }
    assert_eq!(log.checks().damages().len(), 1);
}

#[test]
fn an_old_segment_is_rolled_at_the_next_append() {
    let world = World::new();
    let log = world.start();
    append(&log, &["a"]);
    world.clock.advance(world.config.segment_age.saturating_sub(Duration::from_millis(1)));
    append(&log, &["b"]);
    world.clock.advance(Duration::from_millis(1));
    append(&log, &["c"]);
    log.flush().unwrap();
    assert_eq!(world.segments(), [0, 2]);
    assert_eq!(values(&log, 0, 3).len(), 3);
}

#[test]
fn an_append_goes_on_while_the_disk_syncs_and_only_what_was_there_is_flushed() {
    let world = World::new();
    let log = world.start();
    append(&log, &["a"]);
    let hold = world.disk.hold_sync();
    thread::scope(|scope| {
        let flush = scope.spawn(|| log.flush().unwrap());
        assert!(hold.wait_for(1, Duration::from_secs(30)));
        append(&log, &["b"]);
        assert_eq!(log.flushed_offset(), Offset::ZERO);
        drop(hold);
        assert_eq!(flush.join().unwrap(), Offset::new(1));
    });
    assert_eq!((log.flushed_offset().get(), log.log_end_offset().get()), (1, 2));
}

#[test]
fn a_flush_that_began_before_a_truncation_publishes_nothing() {
    let world = World::with_segments_of(200);
    let log = world.start();
    for n in 0..6 {
        append(&log, &[&n.to_string()]);
    }
    let ticket = log.flushes().begin().unwrap().unwrap();
    assert_eq!(ticket.files(), 3);
    ticket.sync().unwrap();
    log.truncator().cut(Offset::new(1)).unwrap();
    assert_eq!(ticket.finish(Ok(())).unwrap(), Offset::ZERO);
    assert_eq!(log.flush().unwrap(), Offset::new(1));
}

#[test]
fn a_truncation_within_a_batch_removes_all_of_it_and_the_log_continues_there() {
    let world = World::with_segments_of(200);
    let log = world.start();
    append(&log, &["a"]);
    append(&log, &["b", "c"]);
    append(&log, &["d"]);
    log.start_epoch(LeaderEpoch(5)).unwrap();
    let at = AppendAt { epoch: LeaderEpoch(5), now: NOW };
    append_at(&log, &["e"], at).unwrap();
    assert_eq!(log.truncator().cut(Offset::new(2)).unwrap(), Offset::new(1));
    assert_eq!(log.epochs().entries().unwrap().len(), 1);
    log.start_epoch(LeaderEpoch(6)).unwrap();
    let at = AppendAt { epoch: LeaderEpoch(6), now: NOW };
    assert_eq!(append_at(&log, &["x"], at).unwrap().base_offset, Offset::new(1));
    assert_eq!(values(&log, 0, 2), [(0, "a".to_owned()), (1, "x".to_owned())]);
    assert_eq!(log.epochs().end_offset_for(EPOCH).unwrap(), Some((EPOCH, Offset::new(1))));
}

#[test]
fn records_on_their_way_to_a_reader_are_not_mixed_with_those_after_a_truncation() {
    let world = World::new();
    let log = world.start();
    for value in ["a", "b"] {
        append(&log, &[value]);
    }
    let limit = ReadLimit {
        max_bytes: 1 << 20,
        below: Offset::new(2),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let range = log.read(Offset::ZERO, limit).unwrap().unwrap();
    let (near, _far) = UnixStream::pair().unwrap();
    let mut buffer = vec![0; usize::try_from(range.length).unwrap()];
    range.file.read_checked(&mut buffer, range.position).unwrap();
    range.file.send_to(near.as_fd(), range.position, 1).unwrap();

    log.truncator().cut(Offset::new(1)).unwrap();
    append(&log, &["c"]);
    assert_eq!(values(&log, 0, 2), [(0, "a".to_owned()), (1, "c".to_owned())]);
    let read = range.file.read_at(&mut buffer, range.position);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidData);
    let checked = range.file.read_checked(&mut buffer, range.position);
    assert_eq!(checked.unwrap_err().kind(), ErrorKind::InvalidData);
    let sent = range.file.send_to(near.as_fd(), range.position, buffer.len());
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::InvalidData);
}

#[test]
fn a_truncation_to_the_end_drops_epochs_without_records() {
    let world = World::new();
    let log = world.start();
    append(&log, &["a"]);
    log.start_epoch(LeaderEpoch(5)).unwrap();
    log.epochs().prepare().unwrap();
    assert_eq!(log.truncator().cut(Offset::new(1)).unwrap(), Offset::new(1));
    assert_eq!(log.epochs().latest().unwrap(), Some(EPOCH));
    assert_eq!(values(&log, 0, 1), [(0, "a".to_owned())]);
}

#[test]
fn records_are_found_by_timestamp_in_any_order_of_timestamps() {
    let mut world = World::with_segments_of(400);
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    let times = [5, 3, 9, 9, 1, 20, 15, 40, 2, 30];
    for pair in times.chunks(2) {
        let mut builder = BatchBuilder::new();
        for time in pair {
            builder.push(Timestamp::from_millis(*time), None, Some(&[0; 100]), &[]).unwrap();
        }
        let compression = Compression::Lz4;
        let mut compressor = Compressor::new(compression, None).unwrap();
        append_batch(
            &log,
            builder.build(&BatchSettings::default(), &mut compressor).unwrap(),
            at(),
        )
        .unwrap();
    }
    for wanted in 0..45 {
        let expected = times.iter().position(|time| *time >= wanted).map(|index| index as u64);
        let found = log.lookups().offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
        let found = found.map(|record| record.offset.get().unsigned_abs());
        assert_eq!(found, expected, "at or after {wanted}");
    }
    let last = log.lookups().max_timestamp().unwrap().unwrap();
    assert_eq!((last.offset.get(), last.timestamp.millis(), last.epoch), (7, 40, EPOCH));
}

#[test]
fn the_log_assigns_timestamps_with_log_append_time() {
    let mut world = World::new();
    world.config.timestamp_type = TimestampType::LogAppendTime;
    let log = world.start();
    let now = Timestamp::from_millis(77);
    let appended = append_at(&log, &["a", "b"], AppendAt { epoch: EPOCH, now }).unwrap();
    assert_eq!(appended.log_append_time, Some(now));
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(2),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    let bytes = bytes_of(&log.read(Offset::ZERO, limit).unwrap().unwrap());
    let stored = Batch::parse(&bytes).unwrap();
    assert!(stored.checksum_matches());
    assert_eq!(stored.max_timestamp(), now);
    assert_eq!(stored.timestamp_type(), TimestampType::LogAppendTime);
}

#[test]
fn readers_see_whole_batches_in_order_while_the_log_grows_and_is_flushed() {
    const BATCHES: i64 = 2_000;
    let mut world = World::with_segments_of(5_000);
    world.config.index_interval = ByteSize(300);
    let log = world.start();
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..BATCHES {
                append(&log, &[&n.to_string()]);
            }
        });
        scope.spawn(|| while log.flush().unwrap().get() < BATCHES {});
        for max_bytes in [100, 3_000] {
            let log = &log;
            scope.spawn(move || {
                let mut next = Offset::ZERO;
                while next.get() < BATCHES {
                    let below = log.flushed_offset();
                    let limit = ReadLimit {
                        max_bytes,
                        below,
                        at_least_one_batch: true,
                        keeps_emptied: false,
                    };
                    let Some(range) = log.read(next, limit).unwrap() else {
                        assert!(next >= below, "nothing to read at {next} below {below}");
                        thread::yield_now();
                        continue;
                    };
                    let bytes = bytes_of(&range);
                    let mut batches = Batches::new(&bytes);
                    for batch in &mut batches {
                        let batch = batch.unwrap();
                        assert!(batch.checksum_matches());
                        assert_eq!(batch.base_offset(), next);
                        next = batch.next_offset();
                    }
                    assert!(batches.rest().is_empty() && next <= below);
                }
            });
        }
    });
}
