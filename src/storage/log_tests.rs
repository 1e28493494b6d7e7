//! Facts about one partition's log on a disk that works.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::{
    Clock, Disk, FileRange, ManualClock, MemoryDisk, OpenMode, read_exact_at, write_all_at,
};
use crate::record::{
    Batch, BatchBuilder, BatchSettings, Batches, Compressor, Decompressor, ProducerStamp,
};
use crate::storage::{
    AppendAt, Appended, Log, LogConfig, LogEnv, ProducerLimits, ReadLimit, StartPoint, StorageError,
};
use crate::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicPartition,
};

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const EPOCH: LeaderEpoch = LeaderEpoch(3);

/// A world in memory with one log in it.
struct World {
    env: LogEnv,
    disk: MemoryDisk,
    clock: Arc<ManualClock>,
    config: LogConfig,
}

impl World {
    fn new() -> Self {
        let disk = MemoryDisk::default();
        disk.create_dir(Path::new("/data")).unwrap();
        let clock = Arc::new(ManualClock::at(NOW));
        let env = LogEnv {
            disk: Arc::new(disk.clone()),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            producers: ProducerLimits::default(),
        };
        Self { env, disk, clock, config: LogConfig::default() }
    }

    fn with_segments_of(bytes: u64) -> Self {
        let mut world = Self::new();
        world.config.segment_size = ByteSize(bytes);
        world
    }

    fn open(&self, start: StartPoint) -> Log {
        let partition =
            TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
        let config = Arc::new(self.config.clone());
        Log::open(&self.env, PathBuf::from("/data/t-0"), partition, config, start).unwrap()
    }

    /// A new log that takes records in `EPOCH`.
    fn start(&self) -> Log {
        let log = self.open(StartPoint::New);
        log.start_epoch(EPOCH).unwrap();
        log
    }

    /// Closes the log and opens it as it was left.
    fn reopen(&self, log: &Log) -> Log {
        let marks = log.close().unwrap();
        assert_eq!(marks.durable, log.log_end_offset());
        let (log_start, log_end) = (marks.log_start, marks.durable);
        let log = self.open(StartPoint::Clean { log_start, log_end });
        log.start_epoch(LeaderEpoch(EPOCH.0 + 1)).unwrap();
        log
    }

    fn names(&self) -> Vec<String> {
        let entries = self.disk.list(Path::new("/data/t-0")).unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }
}

fn at() -> AppendAt {
    AppendAt { epoch: EPOCH, now: NOW }
}

/// A batch of records with these values, their times rising from `NOW`.
fn batch(values: &[&str]) -> Vec<u8> {
    stamped(values, None)
}

fn stamped(values: &[&str], producer: Option<ProducerStamp>) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.push(NOW, None, Some(value.as_bytes()), &[]).unwrap();
    }
    builder
        .build(&BatchSettings { producer, ..BatchSettings::default() }, &mut Compressor::none())
        .unwrap()
}

fn append(log: &Log, values: &[&str]) -> Appended {
    append_at(log, values, at()).unwrap()
}

fn append_at(log: &Log, values: &[&str], at: AppendAt) -> Result<Appended, StorageError> {
    let mut batch = batch(values);
    let mut outcomes = log.append(&mut [&mut batch], at)?;
    Ok(outcomes.remove(0).unwrap())
}

fn bytes_of(range: &FileRange) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    bytes
}

/// All records between two offsets, by as many reads as it takes.
fn values(log: &Log, from: i64, below: i64) -> Vec<(i64, String)> {
    let mut found = Vec::new();
    let mut next = Offset::new(from);
    let limit =
        ReadLimit { max_bytes: 1 << 20, below: Offset::new(below), at_least_one_batch: true };
    while let Some(range) = log.read(next, limit).unwrap() {
        for batch in Batches::new(&bytes_of(&range)) {
            let batch = batch.unwrap();
            assert!(batch.checksum_matches());
            let limits = crate::record::Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            for record in batch.records(&payload, &limits) {
                let record = record.unwrap();
                let value = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
                found.push((batch.offset_of(&record).get(), value));
            }
            next = batch.next_offset();
        }
    }
    found
}

#[test]
fn appended_batches_are_read_back_with_offsets_and_epoch() {
    let world = World::new();
    let log = world.start();
    assert_eq!(append(&log, &["a", "b"]).base_offset, Offset::ZERO);
    assert_eq!(append(&log, &["c"]).next_offset, Offset::new(3));
    assert_eq!(values(&log, 0, 3), [(0, "a".to_owned()), (1, "b".to_owned()), (2, "c".to_owned())]);
    let limit = ReadLimit { max_bytes: 1, below: Offset::new(3), at_least_one_batch: true };
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
        let limit = ReadLimit { max_bytes, below: Offset::new(below), at_least_one_batch };
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
    let limit = ReadLimit { max_bytes: 1, below: Offset::new(8), at_least_one_batch: true };
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
    let logs: Vec<_> = world.names().into_iter().filter(|name| name.ends_with(".log")).collect();
    assert_eq!(logs.len(), 5);
    assert_eq!(logs[1], "00000000000000000002.log");
    assert_eq!(values(&log, 0, 9).len(), 9);
    assert_eq!(values(&log, 5, 8).first(), Some(&(5, "5".to_owned())));
}

#[test]
fn a_flush_publishes_the_offset_and_then_tells_it() {
    let world = World::with_segments_of(200);
    let log = world.start();
    let told = Arc::new(AtomicI64::new(-1));
    let heard = Arc::clone(&told);
    log.on_flush(move |offset| heard.store(offset.get(), Ordering::Relaxed));
    append(&log, &["a"]);
    assert_eq!((log.flushed_offset(), log.log_end_offset()), (Offset::ZERO, Offset::new(1)));
    append(&log, &["b", "c", "d", "e", "f"]);
    assert_eq!(log.flush().unwrap(), Offset::new(6));
    assert_eq!((log.flushed_offset().get(), told.load(Ordering::Relaxed)), (6, 6));
}

#[test]
fn a_log_that_was_closed_goes_on_where_it_ended() {
    let world = World::with_segments_of(300);
    let log = world.start();
    for n in 0..20 {
        append(&log, &[&n.to_string()]);
    }
    let log = world.reopen(&log);
    let at = AppendAt { epoch: LeaderEpoch(4), now: NOW };
    assert_eq!(append_at(&log, &["new"], at).unwrap().base_offset, Offset::new(20));
    assert_eq!(values(&log, 0, 21).len(), 21);
    assert_eq!(log.epoch_end(EPOCH).unwrap(), Some((EPOCH, Offset::new(20))));
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
    let stamp = |base_sequence| {
        let (id, epoch) = (ProducerId(7), ProducerEpoch(0));
        Some(ProducerStamp { id, epoch, base_sequence })
    };
    let mut first = stamped(&["a", "b"], stamp(0));
    let mut again = stamped(&["a", "b"], stamp(0));
    let mut gap = stamped(&["x"], stamp(9));
    let mut plain = batch(&["p"]);
    let outcomes = log.append(&mut [&mut first, &mut again, &mut gap, &mut plain], at()).unwrap();
    assert!(!outcomes[0].unwrap().is_duplicate);
    assert_eq!(outcomes[1].unwrap(), Appended { is_duplicate: true, ..outcomes[0].unwrap() });
    assert!(outcomes[2].is_err());
    assert_eq!(outcomes[3].unwrap().base_offset, Offset::new(2));
    let log = world.reopen(&log);
    let at = AppendAt { epoch: LeaderEpoch(4), now: NOW };
    let mut third = stamped(&["a", "b"], stamp(0));
    let outcomes = log.append(&mut [&mut third], at).unwrap();
    assert_eq!(outcomes[0].unwrap().base_offset, Offset::ZERO);
    assert_eq!(log.log_end_offset(), Offset::new(3));
}

#[test]
fn an_index_that_lies_is_made_again() {
    let mut world = World::new();
    world.config.index_interval = ByteSize(100);
    let log = world.start();
    for n in 0..50 {
        append(&log, &[&n.to_string()]);
    }
    let log = {
        log.close().unwrap();
        let index = Path::new("/data/t-0/00000000000000000000.index");
        let file = world.disk.open(index, OpenMode::Write).unwrap();
        let length = usize::try_from(file.len().unwrap()).unwrap();
        assert!(length > 80);
        let lies: Vec<u8> = (0..length).map(|at| u8::from(at % 4 == 3)).collect();
        write_all_at(&*file, &mut [std::io::IoSlice::new(&lies)], 0).unwrap();
        world.open(StartPoint::Clean { log_start: Offset::ZERO, log_end: Offset::new(50) })
    };
    for from in [0, 1, 17, 49] {
        assert_eq!(values(&log, from, 50).len() as i64, 50 - from);
    }
}

#[test]
fn an_old_segment_is_left_at_the_next_append() {
    let world = World::new();
    let log = world.start();
    append(&log, &["a"]);
    world.clock.advance(world.config.segment_age - Duration::from_millis(1));
    append(&log, &["b"]);
    world.clock.advance(Duration::from_millis(1));
    append(&log, &["c"]);
    log.flush().unwrap();
    let logs = world.names().into_iter().filter(|name| name.ends_with(".log")).count();
    assert_eq!(logs, 2);
    assert_eq!(values(&log, 0, 3).len(), 3);
}
