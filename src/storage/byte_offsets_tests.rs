//! Tests of a log whose offsets count bytes.

use std::sync::Arc;

use crate::record::{
    Batch, BatchBuilder, BatchSettings, Compression, Compressor, RecordError, TimestampType,
};
use crate::storage::verify;
use crate::storage::world_tests::{
    NOW, World, append, append_batch, at, batch, bytes_of, crashed, file, stamp, stamped, texts,
    values,
};
use crate::storage::{Extent, Log, LogConfig, OffsetUnit, ReadLimit};
use crate::types::{Offset, Timestamp};

fn by_bytes() -> World {
    let mut world = World::new();
    world.config.offset_unit = OffsetUnit::Byte;
    world
}

/// The size of a batch, as a difference of offsets.
fn length(batch: &[u8]) -> i64 {
    i64::try_from(batch.len()).unwrap()
}

/// The base offset of the batch returned for a read at an offset.
fn first_read(log: &Log, from: i64) -> Option<i64> {
    let below = log.log_end_offset();
    let limit = ReadLimit { max_bytes: 1, below, at_least_one_batch: true, keeps_emptied: false };
    let range = log.read(Offset::new(from), limit).unwrap()?;
    Some(Batch::parse(&bytes_of(&range)).unwrap().base_offset().get())
}

/// A batch of one-letter records with these timestamps.
fn timed(times: &[i64]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for time in times {
        builder.push(Timestamp::from_millis(*time), None, Some(b"x"), &[]).unwrap();
    }
    builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap()
}

#[test]
fn a_batch_begins_at_its_position_and_its_records_follow_one_by_one() {
    let world = by_bytes();
    let log = world.start();
    let (first, second) = (length(&batch(&["a", "b"])), length(&batch(&["c"])));
    assert_eq!(append(&log, &["a", "b"]).next_offset.get(), first);
    let appended = append(&log, &["c"]);
    assert_eq!((appended.base_offset.get(), appended.next_offset.get()), (first, first + second));
    let found = values(&log, 0, first + second);
    assert_eq!(found, [(0, "a".into()), (1, "b".into()), (first, "c".into())]);
    assert_eq!(log.size_bytes().unwrap(), log.log_end_offset().get().cast_unsigned());
    let stored = world.bytes(&file(0, "log"));
    let second = Batch::parse(&stored[usize::try_from(first).unwrap()..]).unwrap();
    assert_eq!(second.base_offset().get(), first);
    assert_eq!(
        (second.record_count(), second.size()),
        (1, second.last_offset_delta() as usize + 1)
    );
}

#[test]
fn a_batch_of_more_records_than_bytes_has_an_offset_for_each() {
    let world = by_bytes();
    let log = world.start();
    let mut builder = BatchBuilder::new();
    for _ in 0..2_000 {
        builder.push(NOW, None, None, &[]).unwrap();
    }
    let mut zstd = Compressor::new(Compression::Zstd, None).unwrap();
    let batch = builder.build(&BatchSettings::default(), &mut zstd).unwrap();
    assert!(batch.len() < 2_000, "{} bytes", batch.len());
    assert_eq!(append_batch(&log, batch, at()).unwrap().next_offset.get(), 2_000);
    assert_eq!(first_read(&log, 1_999), Some(0));
}

#[test]
fn the_batch_of_an_offset_after_its_records_is_found() {
    let world = by_bytes();
    let log = world.start();
    append(&log, &["a"]);
    let base = append(&log, &["b", "c"]).base_offset;
    let end = log.log_end_offset();
    let limit =
        ReadLimit { max_bytes: 1, below: end, at_least_one_batch: true, keeps_emptied: false };
    let base_of_batch = |offset: Offset| {
        let range = log.reads().batch_of(offset, limit).unwrap().map(Extent::into_range)?;
        Some(Batch::parse(&bytes_of(&range)).unwrap().base_offset())
    };
    let last = Offset::new(end.get() - 1);
    assert!(log.read(last, limit).unwrap().is_none());
    assert_eq!(base_of_batch(last), Some(base));
    assert_eq!(base_of_batch(base.plus(2)), Some(base), "the first offset after the records");
    assert_eq!(base_of_batch(end), None);
}

#[test]
fn a_read_after_the_records_of_a_batch_begins_with_the_next() {
    let mut world = by_bytes();
    world.config.segment_size = crate::config::ByteSize(200);
    let log = world.start();
    for value in ["a", "b", "c", "d", "e"] {
        append(&log, &[value, value]);
    }
    let size = length(&batch(&["a", "a"]));
    assert!(world.segments().len() > 1, "the gap at a segment's end too");
    for number in 0..5 {
        let base = number * size;
        assert_eq!(first_read(&log, base), Some(base));
        assert_eq!(first_read(&log, base + 1), Some(base));
        let next = (number < 4).then_some(base + size);
        assert_eq!(first_read(&log, base + 2), next);
        assert_eq!(first_read(&log, base + size - 1), next);
    }
    assert_eq!(first_read(&log, 5 * size), None);
}

#[test]
fn sequences_count_records_and_a_duplicate_gets_the_offsets_of_the_original() {
    let world = by_bytes();
    let log = world.start();
    let send = |log: &Log, values: &[&str], sequence| {
        append_batch(log, stamped(values, Some(stamp(sequence))), at()).unwrap()
    };
    let first = send(&log, &["a", "b", "c"], 0);
    let second = send(&log, &["d"], 3);
    let again = send(&log, &["a", "b", "c"], 0);
    assert!(again.is_duplicate);
    assert_eq!((again.base_offset, again.next_offset), (first.base_offset, first.next_offset));
    log.flush().unwrap();
    drop(log);
    let log = world.open(crashed(second.next_offset.get(), false));
    log.start_epoch(at().epoch).unwrap();
    assert!(send(&log, &["d"], 3).is_duplicate, "after a crash");
    assert_eq!(send(&log, &["e", "f"], 4).base_offset, second.next_offset);
}

#[test]
fn a_lookup_by_timestamp_returns_an_existing_record() {
    let world = by_bytes();
    let log = world.start();
    let size = length(&timed(&[1, 2, 3]));
    for times in [[10, 11, 12], [20, 30, 21], [22, 23, 24]] {
        append_batch(&log, timed(&times), at()).unwrap();
    }
    let found = |time| {
        let record = log.lookups().offset_for_timestamp(Timestamp::from_millis(time)).unwrap();
        record.map(|record| (record.offset.get(), record.timestamp.millis()))
    };
    assert_eq!(found(12), Some((2, 12)));
    assert_eq!(found(13), Some((size, 20)));
    assert_eq!(found(21), Some((size + 1, 30)));
    assert_eq!(found(31), None);
    assert_eq!(log.lookups().max_timestamp().unwrap().unwrap().offset.get(), size + 1);
    // The log starts after the records of its first batch.
    log.retention().advance_log_start(Offset::new(size - 1)).unwrap();
    assert_eq!(found(0), Some((size, 20)));
}

#[test]
fn the_time_of_the_log_and_the_bytes_of_the_batch_go_into_one_header() {
    let mut world = by_bytes();
    world.config.timestamp_type = TimestampType::LogAppendTime;
    let log = world.start();
    append_batch(&log, timed(&[1, 2]), at()).unwrap();
    let stored = world.bytes(&file(0, "log"));
    let batch = Batch::parse(&stored).unwrap();
    let checked: Result<(), RecordError> = batch.check_checksum();
    checked.unwrap();
    assert_eq!(batch.max_timestamp(), NOW);
    assert_eq!(batch.last_offset_delta() as usize, batch.size() - 1);
}

#[test]
fn settings_do_not_change_the_offset_unit() {
    let world = by_bytes();
    let log = world.start();
    log.set_config(Arc::new(LogConfig::default()));
    assert_eq!(log.offset_unit(), OffsetUnit::Byte);
    assert_eq!(append(&log, &["a"]).next_offset.get(), length(&batch(&["a"])));
}

#[test]
fn a_truncation_a_torn_tail_and_a_lost_index_leave_whole_batches() {
    let mut world = by_bytes();
    world.config.index_interval = crate::config::ByteSize(0);
    let log = world.start();
    for value in ["a", "b", "c", "d"] {
        append(&log, &[value]);
    }
    let size = length(&batch(&["a"]));
    log.flush().unwrap();
    // The offset is after the records of the third batch: the whole batch is removed.
    assert_eq!(log.truncator().cut(Offset::new(3 * size - 1)).unwrap().get(), 2 * size);
    log.start_epoch(at().epoch).unwrap();
    append(&log, &["e"]);
    append(&log, &["torn"]);
    log.flush().unwrap();
    drop(log);
    world.overwrite(&file(0, "log"), Some((3 * size).cast_unsigned() + 70), b"?");
    world.overwrite(&file(0, "index"), Some(0), &[0xff; 8]);
    let log = world.open(crashed(3 * size, false));
    assert_eq!(log.log_end_offset().get(), 3 * size);
    assert_eq!(texts(&values(&log, 0, 3 * size)), ["a", "b", "e"]);
    log.start_epoch(at().epoch).unwrap();
    assert_eq!(append(&log, &["f"]).base_offset.get(), 3 * size);
    let log = world.reopen(&log);
    assert_eq!(log.log_end_offset().get(), 4 * size);
    let disk: Arc<dyn crate::io::Disk> = Arc::new(world.disk.clone());
    let report = verify(&disk, log.dir()).unwrap().remove(0);
    assert_eq!((report.batches, report.gaps, report.next_offset.get()), (4, 0, 4 * size));
}
