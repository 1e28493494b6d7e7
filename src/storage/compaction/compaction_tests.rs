//! Tests of single compaction passes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::kept_tests::{
    DIR, History, Kept, NOW, batch_of, check_files, compact_below, contents, open, settings,
};
use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, ManualClock, MemoryDisk, OpenMode, write_all_at};
use crate::record::{Compression, ProducerStamp};
use crate::storage::checked_text::encode;
use crate::storage::compacted::Compacted;
use crate::storage::compaction::{Bounds, Candidate, Effort, Pass, compact};
use crate::storage::segments::Medium;
use crate::storage::{
    AppendAt, Damage, Log, LogConfig, LogDamage, ReadLimit, StartPoint, StorageError, small_file,
};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

const AT: AppendAt = AppendAt { epoch: LeaderEpoch(1), now: Timestamp::from_millis(NOW) };
const MUCH: u64 = 1 << 20;

struct World {
    disk: FaultyDisk,
    clock: Arc<ManualClock>,
    config: LogConfig,
    log: Arc<Log>,
    end: i64,
}

impl World {
    fn new() -> Self {
        Self::with(settings(10_000))
    }

    fn with(config: LogConfig) -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let clock = Arc::new(ManualClock::at(AT.now));
        let log = open(Arc::new(disk.clone()), &clock, &config, StartPoint::New).unwrap();
        log.start_epoch(AT.epoch).unwrap();
        Self { disk, clock, config, log, end: 0 }
    }

    /// One batch of records `key=value`, or `key` alone for a tombstone.
    fn append(&mut self, records: &[&str]) {
        self.append_as(records, None, Compression::None);
    }

    fn append_as(&mut self, records: &[&str], stamp: Option<ProducerStamp>, codec: Compression) {
        let records = records.iter().map(|text| {
            let (key, value) = match text.split_once('=') {
                Some((key, value)) => (key, Some(value.as_bytes().to_vec())),
                None => (*text, None),
            };
            let key = (!key.is_empty()).then(|| key.as_bytes().to_vec());
            Kept { offset: 0, key, value, time: NOW }
        });
        let records: Vec<_> = records.collect();
        let mut bytes = batch_of(&records, codec, stamp);
        let appended = self.log.append(&mut [&mut bytes], AT).unwrap()[0].unwrap();
        assert!(!appended.is_duplicate);
        self.end = appended.next_offset.get();
    }

    /// Rolls the active segment and checkpoints the log.
    fn roll(&self) {
        self.log.tail().roll(AT.now).unwrap();
        self.log.flush().unwrap();
        self.log.checkpoints().advance().unwrap();
    }

    fn compact(&self) -> Pass {
        let now = crate::io::Clock::now(&*self.clock);
        compact_below(&self.log, Offset::new(self.end), now, MUCH).unwrap()
    }

    fn candidate(&self) -> Candidate {
        let now = crate::io::Clock::now(&*self.clock);
        Candidate::of(&self.log, Bounds { below: Offset::new(self.end), now }).unwrap()
    }

    /// The remaining records, as `offset:key=value`.
    fn left(&self) -> Vec<String> {
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap())
        };
        let show = |record: Kept| {
            let value = text(&record.value).map_or(String::new(), |value| format!("={value}"));
            format!("{}:{}{value}", record.offset, text(&record.key).unwrap_or_default())
        };
        contents(&self.log).into_iter().map(show).collect()
    }

    fn names(&self, suffix: &str) -> Vec<String> {
        let names = self.disk.list(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name);
        names.filter(|name| name.ends_with(suffix)).collect()
    }

    fn reopen(&mut self) {
        let marks = self.log.close().unwrap();
        let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
        self.log = open(Arc::new(self.disk.clone()), &self.clock, &self.config, start).unwrap();
        self.log.start_epoch(AT.epoch).unwrap();
    }
}

fn stamp(base_sequence: i32) -> ProducerStamp {
    ProducerStamp { id: ProducerId(7), epoch: ProducerEpoch(0), base_sequence }
}

#[test]
fn the_last_record_of_each_key_keeps_its_offset() {
    for codec in Compression::ALL {
        let mut world = World::new();
        world.append_as(&["a=1", "b=1", "c=1"], None, codec);
        world.append_as(&["a=2", "d=1"], None, codec);
        world.roll();
        world.append_as(&["b=2", "a=3"], None, codec);
        world.roll();
        world.append_as(&["c=2"], None, codec);
        assert!(matches!(world.compact(), Pass::Done { below, .. } if below.get() == 7));
        let expected = ["2:c=1", "4:d=1", "5:b=2", "6:a=3", "7:c=2"];
        assert_eq!(world.left(), expected, "{codec}");
        world.reopen();
        assert_eq!(world.left(), expected, "{codec} after a restart");
        History::check_times(&world.log, [NOW, NOW + 1]);
    }
}

#[test]
fn small_neighbours_become_one_segment() {
    let mut world = World::new();
    for round in 0..5 {
        world.append(&[&format!("k{round}=x")]);
        world.roll();
    }
    assert_eq!(world.names(".log").len(), 6);
    world.compact();
    assert_eq!(world.names(".log"), ["00000000000000000000.log", "00000000000000000005.log"]);
    assert_eq!(world.names(".cleaned").len() + world.names(".swap").len(), 0);
    assert_eq!(world.left().len(), 5);
}

#[test]
fn many_small_segments_become_few_without_all_their_files_open() {
    let mut world = World::new();
    for round in 0..70 {
        world.append(&[&format!("k{round}=x")]);
        world.roll();
    }
    let candidate = world.candidate();
    let effort =
        Effort { map_size: ByteSize(MUCH), now: AT.now, directory: None, keep_going: &|_| true };
    assert!(matches!(compact(&candidate, &effort).unwrap(), Pass::Done { .. }));
    let bases: Vec<i64> = world.log.segments().iter().map(|s| s.base().get()).collect();
    assert_eq!(bases, [0, 32, 64, 70]);
    let open = world.log.context().files.open_count();
    assert!(open <= 3, "{open} files are open while the pass still has the old segments");
    assert_eq!(world.left().len(), 70);
}

#[test]
fn a_tombstone_stays_for_its_time_and_takes_its_key_with_it() {
    let mut world = World::new();
    world.append(&["a=1", "b=1"]);
    world.append(&["a"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["1:b=1", "2:a"], "its time begins with this");
    world.append(&["b=2"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["2:a", "3:b=2"]);
    world.clock.advance(world.config.delete_retention);
    world.append(&["b=3"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["4:b=3"]);
}

#[test]
fn records_without_a_key_stay() {
    let mut world = World::new();
    world.append(&["=1", "a=1"]);
    world.append(&["=2", "a=2"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:=1", "2:=2", "3:a=2"]);
}

#[test]
fn the_active_segment_and_unrecorded_segments_are_not_compacted() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    assert_eq!(world.compact(), Pass::Stopped);
    world.log.tail().roll(AT.now).unwrap();
    world.append(&["a=3"]);
    assert_eq!(world.compact(), Pass::Stopped, "flushed, but its seal is not written");
    world.roll();
    let early = compact_below(&world.log, Offset::new(1), AT.now, MUCH).unwrap();
    assert_eq!(early, Pass::Stopped, "above the high watermark");
    assert_eq!(world.left().len(), 3);
    world.compact();
    assert_eq!(world.left(), ["2:a=3"]);
}

#[test]
fn a_batch_without_records_keeps_its_producer_known() {
    let mut world = World::new();
    world.append_as(&["a=1", "b=1"], Some(stamp(0)), Compression::Lz4);
    world.append_as(&["a=2", "b=2"], Some(stamp(2)), Compression::Lz4);
    world.append(&["a=3", "b=3"]);
    world.append(&["c=1"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["4:a=3", "5:b=3", "6:c=1"]);
    let marks = world.log.close().unwrap();
    for name in world.names(".snapshot") {
        world.disk.remove_file(&Path::new(DIR).join(name)).unwrap();
    }
    let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
    world.log = open(Arc::new(world.disk.clone()), &world.clock, &world.config, start).unwrap();
    world.log.start_epoch(AT.epoch).unwrap();
    let kept = |key: &str| Kept {
        offset: 0,
        key: Some(key.as_bytes().to_vec()),
        value: Some(b"2".to_vec()),
        time: NOW,
    };
    let mut again = batch_of(&[kept("a"), kept("b")], Compression::Lz4, Some(stamp(2)));
    let outcome = world.log.append(&mut [&mut again], AT).unwrap()[0].unwrap();
    assert_eq!((outcome.base_offset.get(), outcome.is_duplicate), (2, true));
    world.append_as(&["a=4"], Some(stamp(4)), Compression::None);
}

#[test]
fn keys_that_do_not_fit_into_memory_wait_for_the_next_pass() {
    let mut world = World::new();
    for round in 0..3 {
        for name in 0..30 {
            world.append(&[&format!("{name}={round}")]);
        }
    }
    world.roll();
    let mut passes = 0;
    let mut before = 0;
    while let Pass::Done { below, .. } =
        compact_below(&world.log, Offset::new(90), AT.now, 0).unwrap()
    {
        assert!(below.get() > before, "{below} after {before}");
        (before, passes) = (below.get(), passes + 1);
        if before == 90 {
            break;
        }
    }
    assert!(passes > 3, "{passes} passes");
    assert_eq!(world.left().len(), 30);
    History::check_clean(&world.log, 90);
}

#[test]
fn readers_continue_with_the_files_they_have_open() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    let limit = ReadLimit { max_bytes: 1 << 20, below: Offset::new(2), at_least_one_batch: true };
    let range = world.log.read(Offset::ZERO, limit).unwrap().unwrap();
    world.compact();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    crate::io::read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    assert_eq!(crate::record::Batches::new(&bytes).filter_map(Result::ok).count(), 2);
    assert_eq!(world.left(), ["1:a=2"]);
}

#[test]
fn a_damaged_batch_ends_the_compaction_and_nothing_is_lost() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    let file = world.disk.open(&Path::new(DIR).join("00000000000000000000.log"), OpenMode::Write);
    let file = file.unwrap();
    let length = file.len().unwrap();
    write_all_at(&*file, &mut [std::io::IoSlice::new(b"!")], length - 3).unwrap();
    let refused = compact_below(&world.log, Offset::new(2), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    assert_eq!(file.len().unwrap(), length);
    assert_eq!(world.names(".cleaned"), [""; 0]);
    assert_eq!(world.names("compacted"), [""; 0]);
}

#[test]
fn compaction_continues_around_skipped_damage_and_restores_no_deleted_key() {
    let mut world = World::new();
    world.append(&["a=1", "k=1"]);
    world.roll();
    for record in ["a=2", "c=1", "d=1"] {
        world.append(&[record]);
    }
    world.roll();
    world.append(&["d"]);
    world.append(&["k=2"]);
    world.roll();
    let path = Path::new(DIR).join("00000000000000000002.log");
    world.disk.flip_bit(&path, 63, 1).unwrap();
    let refused = compact_below(&world.log, Offset::new(world.end), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    LogDamage::of(&world.log).check_around(Offset::new(2)).unwrap();
    LogDamage::of(&world.log).skip(Offset::new(2)..Offset::new(3), |_| Ok(())).unwrap();

    let damaged = world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap();
    world.compact();
    let left = ["0:a=1", "3:c=1", "4:d=1", "5:d", "6:k=2"];
    assert_eq!(world.left(), left, "the damaged segment stays, and tombstones of what is in it");
    world.clock.advance(world.config.delete_retention);
    world.append(&["k=3"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:a=1", "3:c=1", "4:d=1", "5:d", "7:k=3"]);
    assert_eq!(world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap(), damaged);
    world.reopen();
    assert_eq!(world.left().len(), 5);
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    world.disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(".cleaned"));
    let refused = compact_below(&world.log, Offset::new(2), AT.now, MUCH);
    assert!(matches!(refused, Err(StorageError::OutOfSpace { .. })), "{refused:?}");
    assert_eq!(world.names(".cleaned"), [""; 0]);
    world.append(&["a=3"]);
    world.compact();
    assert_eq!(world.left(), ["1:a=2", "2:a=3"]);
}

#[test]
fn a_disk_that_fills_at_any_step_of_a_compaction_leaves_a_usable_log() {
    for operation in [Operation::Write, Operation::Open] {
        for call in 1.. {
            let mut world = World::new();
            for value in 1..=9 {
                world.append(&[&format!("a={value}")]);
            }
            world.roll();
            // Only a replacement's file is newly created.
            let suffix = if operation == Operation::Open { ".cleaned" } else { "" };
            let fault = Fault::new(operation, Failure::NoSpace).on(suffix);
            world.disk.inject(fault.at_call(call).for_ever());
            let done = compact_below(&world.log, Offset::new(9), AT.now, MUCH);
            world.disk.clear_faults();
            world.append(&["b=1"]);
            world.reopen();
            let left = world.left();
            assert_eq!(left.last().map(String::as_str), Some("9:b=1"), "{operation:?} {call}");
            assert_eq!(left[left.len() - 2], "8:a=9", "{operation:?} {call}");
            let log: Arc<dyn Disk> = Arc::new(world.disk.clone());
            world.log.close().unwrap();
            check_files(&log);
            if done.is_ok() {
                assert!(call > 3, "only {call} calls of {operation:?}");
                break;
            }
            assert!(matches!(done, Err(StorageError::OutOfSpace { .. })), "{done:?}");
        }
    }
}

#[test]
fn a_replacement_that_cannot_be_completed_ends_the_log_until_the_next_start() {
    for operation in [Operation::SyncDir, Operation::Rename, Operation::Remove] {
        let mut world = World::new();
        world.append(&["a=1"]);
        world.append(&["a=2"]);
        world.roll();
        let suffix = if operation == Operation::SyncDir { "" } else { ".log" };
        let call = if operation == Operation::SyncDir { 3 } else { 1 };
        let fault = Fault::new(operation, Failure::InputOutput).on(suffix).at_call(call);
        world.disk.inject(fault);
        assert!(compact_below(&world.log, Offset::new(2), AT.now, MUCH).is_err());
        assert_eq!(world.left(), ["0:a=1", "1:a=2"], "{operation:?}");
        assert!(world.log.close().is_err(), "it is not taken for closed in order");
        let (durable, log_start) = (Offset::new(2), Offset::ZERO);
        let start = StartPoint::Unclean { log_start, durable, rebuild: durable, same_boot: true };
        world.log = open(Arc::new(world.disk.clone()), &world.clock, &world.config, start).unwrap();
        assert_eq!(world.left(), ["1:a=2"], "{operation:?}");
    }
}

#[test]
fn the_dirty_ratio_survives_a_restart_and_decides_when_a_log_is_compacted() {
    let mut world = World::new();
    for _ in 0..10 {
        world.append(&["a=1", "b=1"]);
    }
    world.roll();
    assert!(world.candidate().is_due(), "all of it is dirty");
    world.compact();
    assert!(!world.candidate().is_due(), "nothing is");
    world.append(&["c=1", "d=1", "e=1", "f=1", "g=1", "h=1", "i=1", "j=1", "k=1", "l=1"]);
    world.roll();
    world.compact();
    world.append(&["a=2"]);
    world.roll();
    for _ in 0..2 {
        let ratio = world.candidate().dirty_ratio();
        assert!(ratio > 0.1 && ratio < 0.5 && !world.candidate().is_due(), "{ratio}");
        world.reopen();
    }
    let path = Path::new(DIR);
    let known = Compacted::load(&world.disk, path).unwrap();
    assert_eq!(known.clean_below, known.gaps_below);
}

#[test]
fn compaction_lags_delay_and_force_compaction() {
    let minute = Duration::from_mins(1);
    let mut world = World::with(LogConfig { min_compaction_lag: minute, ..settings(10_000) });
    world.append(&["a=1"]);
    world.append(&["a=2"]);
    world.roll();
    assert!(!world.candidate().is_due());
    world.clock.advance(minute);
    assert!(world.candidate().is_due());

    let config = LogConfig {
        max_compaction_lag: minute,
        min_cleanable_dirty_ratio: 1.0,
        ..settings(10_000)
    };
    let mut world = World::with(config);
    world.append(&["a=1", "b=1"]);
    world.roll();
    world.compact();
    world.append(&["a=2"]);
    assert!(!world.log.tail().roll_older(minute, AT.now).unwrap());
    world.roll();
    assert!(!world.candidate().is_due());
    world.clock.advance(minute);
    assert!(world.candidate().is_due());
    world.append(&["a=3"]);
    world.clock.advance(minute);
    assert!(world.log.tail().roll_older(minute, AT.now).unwrap());
}

#[test]
fn a_truncation_in_a_gap_ends_the_log_at_the_preceding_batch() {
    let mut world = World::new();
    world.append(&["a=1"]);
    world.append(&["b=1"]);
    world.append(&["b=2"]);
    world.append(&["c=1"]);
    world.roll();
    world.compact();
    assert_eq!(world.left(), ["0:a=1", "2:b=2", "3:c=1"]);
    assert_eq!(world.log.truncator().cut(Offset::new(2)).unwrap(), Offset::new(1));
    world.end = 1;
    assert_eq!(world.left(), ["0:a=1"]);
    world.append(&["b=3"]);
    world.roll();
    world.reopen();
    assert_eq!(world.left(), ["0:a=1", "1:b=3"]);
    let known = Compacted::load(&world.disk, Path::new(DIR)).unwrap();
    assert_eq!(known.clean_below, Offset::new(1));
}

/// A compacted log of one closed segment, without every second offset, and its batches: the
/// position and the first offset of each.
fn with_gaps() -> (World, Vec<(u64, i64)>) {
    let mut world = World::new();
    for number in 0..24 {
        let unique = format!("k{number}=v");
        world.append(&[if number % 2 == 0 { &unique } else { "x=v" }]);
    }
    world.roll();
    world.compact();
    let places = batches_of(&world.log);
    assert!(places.windows(2).filter(|pair| pair[1].1 - pair[0].1 == 2).count() > 9, "{places:?}");
    (world, places)
}

fn batches_of(log: &Log) -> Vec<(u64, i64)> {
    let segments = log.segments();
    let mut batches = segments[0].batches().unwrap();
    let mut places = Vec::new();
    while let Some((place, _)) = batches.next().unwrap() {
        places.push((place.position, place.summary.base_offset.get()));
    }
    places
}

/// The findings of a check of the first segment, read from the medium; nothing is recorded.
fn found_in_first(log: &Log) -> Vec<Damage> {
    let mut check = log.checks().check_segment(Offset::ZERO, Medium::Disk).unwrap().unwrap();
    let mut found = Vec::new();
    while !check.is_done() {
        found.extend(check.advance(u64::MAX).unwrap());
    }
    found
}

/// The bytes of a header that its batch's checksum does not cover: all before the checksum.
const UNCOVERED: u64 = 17;

#[test]
fn a_flipped_bit_outside_the_checksum_is_found_among_gaps_and_only_its_batch_is_blamed() {
    let (world, places) = with_gaps();
    let path = Path::new(DIR).join("00000000000000000000.log");
    let size = world.disk.open(&path, OpenMode::Read).unwrap().len().unwrap();
    assert_eq!(found_in_first(&world.log), []);
    for (number, (start, base)) in places.iter().enumerate() {
        let (end, next) = places.get(number + 1).copied().unwrap_or((size, 24));
        let first = if number == 0 { 0 } else { places[number - 1].1 + 1 };
        let expected = Damage {
            segment: Offset::ZERO,
            start: *start,
            end,
            first: Offset::new(first),
            next: Offset::new(next),
        };
        for bit in 0..UNCOVERED * 8 {
            let (byte, bit_of_byte) = (start + bit / 8, u8::try_from(bit % 8).unwrap());
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
            assert_eq!(found_in_first(&world.log), [expected], "bit {bit} of offset {base}");
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
        }
    }
}

#[test]
fn a_reader_of_a_compacted_log_gets_no_record_with_a_wrong_offset() {
    for after_a_start in [false, true] {
        let (mut world, places) = with_gaps();
        if after_a_start {
            world.reopen();
        }
        let (start, base) = places[5];
        let path = Path::new(DIR).join("00000000000000000000.log");
        // Offset 10 becomes 11, which compaction has removed.
        world.disk.flip_bit(&path, start + 7, 0).unwrap();
        let limit =
            ReadLimit { max_bytes: MUCH, below: Offset::new(world.end), at_least_one_batch: true };
        let refused = world.log.read(Offset::new(base), limit);
        assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
        let damages = world.log.checks().damages();
        assert_eq!(damages.len(), 1, "{damages:?}");
        assert_eq!((damages[0].start, damages[0].next), (start, Offset::new(places[6].1)));
        assert!(world.log.read(Offset::new(places[6].1), limit).unwrap().is_some());
    }
}

#[test]
fn in_a_log_with_gaps_sent_bytes_are_checked_again_by_their_header_digest() {
    let (world, places) = with_gaps();
    let limit =
        ReadLimit { max_bytes: MUCH, below: Offset::new(world.end), at_least_one_batch: true };
    let path = Path::new(DIR).join("00000000000000000000.log");
    let range = world.log.read(Offset::ZERO, limit).unwrap().unwrap();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    range.file.read_checked(&mut bytes, range.position).unwrap();
    for (start, base) in &places {
        for bit in 0..UNCOVERED * 8 {
            let (byte, bit_of_byte) = (start + bit / 8, u8::try_from(bit % 8).unwrap());
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
            let refused = range.file.read_checked(&mut bytes, range.position);
            assert!(refused.is_err(), "bit {bit} of offset {base}");
            world.disk.flip_bit(&path, byte, bit_of_byte).unwrap();
        }
    }
    // Known damage does not prevent the batches after it from being sent.
    world.disk.flip_bit(&path, places[5].0 + 7, 0).unwrap();
    assert!(world.log.read(Offset::new(places[5].1), limit).is_err());
    let range = world.log.read(Offset::new(places[6].1), limit).unwrap().unwrap();
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    range.file.read_checked(&mut bytes, range.position).unwrap();
}

#[test]
fn a_seal_of_an_earlier_release_gains_digests_at_the_first_check() {
    let (mut world, places) = with_gaps();
    let path = Path::new(DIR).join("00000000000000000000.seal");
    let disk: Arc<dyn Disk> = Arc::new(world.disk.clone());
    let text = String::from_utf8(small_file::read(&*disk, &path).unwrap().unwrap()).unwrap();
    let row = text.lines().nth(2).unwrap().to_owned();
    assert!(text.lines().count() > 4, "{text}");
    let marks = world.log.close().unwrap();
    small_file::replace(&*disk, &path, encode(0, [&row].into_iter()).as_bytes()).unwrap();
    let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
    world.log = open(Arc::clone(&disk), &world.clock, &world.config, start).unwrap();
    let mut check = world.log.checks().check_segment(Offset::ZERO, Medium::Disk).unwrap().unwrap();
    assert_eq!(check.advance(u64::MAX).unwrap(), []);
    world.log.checks().keep_digests(&check);
    let gained = String::from_utf8(small_file::read(&*disk, &path).unwrap().unwrap()).unwrap();
    assert_eq!(gained, text);
    let batches = Path::new(DIR).join("00000000000000000000.log");
    world.disk.flip_bit(&batches, places[5].0 + 7, 0).unwrap();
    assert_eq!(found_in_first(&world.log).len(), 1);
}

#[test]
fn nothing_is_compacted_by_a_wrong_offset() {
    let (mut world, places) = with_gaps();
    for key in ["k2=new", "x=newer"] {
        world.append(&[key]);
    }
    world.roll();
    let path = Path::new(DIR).join("00000000000000000000.log");
    world.disk.flip_bit(&path, places[5].0 + 7, 0).unwrap();
    let now = crate::io::Clock::now(&*world.clock);
    let refused = compact_below(&world.log, Offset::new(world.end), now, MUCH);
    assert!(matches!(refused, Err(StorageError::Corrupt { .. })), "{refused:?}");
    assert_eq!(world.log.checks().damages().len(), 1);
}
