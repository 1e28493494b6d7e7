//! The log against a plain list of batches, on a disk that fails and a machine that crashes.
//!
//! Every seed is one life of a log that counts its offsets in records or in bytes: appends, reads,
//! rolls, flushes, cuts, failed calls, crashes of the process and of the power, and recoveries,
//! themselves interrupted. Checked throughout: I1 to I8 of the reliability rules.
//! `STREAMLOG_SEED=n` runs that seed alone, `STREAMLOG_SEEDS=n` that many instead of the usual
//! number.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, Disk, ManualClock, MemoryDisk, SeededRandom, read_exact_at};
use crate::record::{
    BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, ProducerStamp,
};
use crate::storage::{
    AppendAt, Log, LogConfig, LogEnv, Marks, OffsetUnit, ProducerLimits, ReadLimit, StartPoint,
    StorageError,
};
use crate::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicPartition,
};

const SEEDS: u64 = 10_000;
const STEPS: u64 = 60;
const NOW: i64 = 1_700_000_000_000;

/// A batch as it is in the log, and the times of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    base: i64,
    next: i64,
    bytes: Vec<u8>,
    times: Vec<i64>,
    sequence: Option<(ProducerId, i32)>,
}

impl Stored {
    /// The offset after its last record, which is not the next batch's where offsets count bytes.
    fn records_end(&self) -> i64 {
        self.base + i64::try_from(self.times.len()).unwrap()
    }
}

/// What the log must be.
#[derive(Debug, Default)]
struct Model {
    batches: Vec<Stored>,
    log_start: i64,
    flushed: i64,
    /// Batches that a crash may bring back though the log does not have them: their append failed,
    /// or a cut was interrupted.
    ghosts: Vec<Stored>,
    /// (epoch, start) of every epoch that has records.
    epochs: Vec<(i32, i64)>,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crash {
    Power,
    Process,
}

struct World {
    random: SeededRandom,
    disk: FaultyDisk,
    clock: Arc<ManualClock>,
    config: Arc<LogConfig>,
    value_size_max: u64,
    log: Log,
    model: Model,
    /// The marks on the disk.
    recorded: Marks,
    epoch: LeaderEpoch,
    producer: ProducerId,
    /// A sync has failed since the machine started: what a cache shows proves nothing.
    lied: bool,
}

impl Model {
    fn end(&self) -> i64 {
        self.batches.last().map_or(self.log_start, |batch| batch.next)
    }

    fn readable(&self) -> impl Iterator<Item = &Stored> {
        self.batches.iter().filter(|batch| batch.records_end() > self.log_start)
    }

    fn cut(&mut self, end: i64) {
        self.batches.retain(|batch| batch.next <= end);
        self.flushed = self.flushed.min(end);
        self.epochs.retain(|(_, start)| *start < end);
    }

    /// The sequence that follows the producer's last batch.
    fn next_sequence(&self, producer: ProducerId) -> i32 {
        let last = self.batches.iter().rev().find_map(|batch| {
            let (id, sequence) = batch.sequence?;
            (id == producer).then(|| sequence + i32::try_from(batch.times.len()).unwrap())
        });
        last.unwrap_or(0)
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), random.number());
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        disk.set_write_back([0, 2, 10, 50][random.index(4)]);
        let is_large = random.chance(4);
        let (least, most) = if is_large { (5_000, 20_000) } else { (150, 1_500) };
        let offset_unit = [OffsetUnit::Record, OffsetUnit::Byte][random.index(2)];
        let config = LogConfig {
            offset_unit,
            segment_size: ByteSize(random.between(least, most)),
            index_interval: ByteSize(random.between(0, 300)),
            retention: None,
            ..LogConfig::default()
        };
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(NOW)));
        let config = Arc::new(config);
        let zero = Offset::ZERO;
        let log = open(&disk, &clock, &config, StartPoint::New).unwrap();
        let mut world = Self {
            random,
            disk,
            clock,
            config,
            value_size_max: if is_large { 3_000 } else { 120 },
            log,
            model: Model::default(),
            recorded: Marks { log_start: zero, durable: zero, rebuild: zero },
            epoch: LeaderEpoch(-1),
            producer: ProducerId(1),
            lied: false,
        };
        world.reign();
        world
    }

    /// One life; `false` when it ended in damage, which is looked at and not gone on with.
    fn live(&mut self) {
        for _ in 0..STEPS {
            self.clock.advance(Duration::from_millis(self.random.below(5)));
            let goes_on = match self.random.below(34) {
                0..=12 => self.append(),
                13..=16 => self.flush(),
                17..=19 => self.record_marks(),
                20..=21 => self.roll(),
                22..=23 => self.truncate(),
                24 => self.advance_log_start(),
                25..=26 => self.fail_one_write(),
                27 => self.fail_one_sync(),
                28 => self.reopen_in_order(),
                29 => self.die(),
                30 => self.crash(Crash::Process),
                31 => self.crash(Crash::Power),
                _ => self.reign(),
            };
            if !goes_on {
                return;
            }
            self.check_bounds();
            if self.random.chance(3) {
                self.check_contents();
            }
        }
        self.check_contents();
        self.check_times();
    }

    fn append(&mut self) -> bool {
        let mut batches = self.batches();
        self.submit(&mut batches).unwrap();
        if self.random.chance(6) {
            self.append_again();
        }
        true
    }

    /// Up to three new batches, the first perhaps of an idempotent producer.
    fn batches(&mut self) -> Vec<Stored> {
        let count = 1 + self.random.below(3);
        let sequence = self.model.next_sequence(self.producer);
        let stamped = self.random.chance(2).then_some((self.producer, sequence));
        (0..count).map(|n| self.batch(stamped.filter(|_| n == 0))).collect()
    }

    fn batch(&mut self, sequence: Option<(ProducerId, i32)>) -> Stored {
        let mut builder = BatchBuilder::new();
        let mut times = Vec::new();
        for _ in 0..=self.random.below(3) {
            let now = self.clock.now().millis();
            let time = now + i64::try_from(self.random.below(20)).unwrap() - 10;
            let size = usize::try_from(self.random.below(self.value_size_max)).unwrap();
            let byte = u8::try_from(self.random.below(256)).unwrap();
            let value = vec![byte; size];
            builder.push(Timestamp::from_millis(time), None, Some(&value), &[]).unwrap();
            times.push(time);
        }
        let producer = sequence.map(|(id, base_sequence)| ProducerStamp {
            id,
            epoch: ProducerEpoch(0),
            base_sequence,
        });
        let settings = BatchSettings { producer, ..BatchSettings::default() };
        let mut compressor = Compressor::none();
        if self.random.chance(20) {
            // More records than bytes.
            let time = *times.last().unwrap();
            for _ in 0..self.random.between(100, 300) {
                builder.push(Timestamp::from_millis(time), None, None, &[]).unwrap();
                times.push(time);
            }
            compressor = Compressor::new(Compression::Zstd, Some(1)).unwrap();
        }
        let bytes = builder.build(&settings, &mut compressor).unwrap();
        Stored { base: 0, next: 0, bytes, times, sequence }
    }

    /// Appends batches, to the model too, or as ghosts when the log refuses them.
    fn submit(&mut self, batches: &mut Vec<Stored>) -> Result<(), StorageError> {
        let at = AppendAt { epoch: self.epoch, now: self.clock.now() };
        let mut end = self.model.end();
        let mut slices: Vec<&mut [u8]> =
            batches.iter_mut().map(|batch| &mut batch.bytes[..]).collect();
        let outcome = self.log.append(&mut slices, at);
        for batch in batches.iter_mut() {
            batch.base = end;
            end += self.span(batch);
            batch.next = end;
        }
        match outcome {
            Ok(outcomes) => {
                for (batch, outcome) in batches.iter().zip(outcomes) {
                    let appended = outcome.unwrap();
                    assert!(!appended.is_duplicate);
                    assert_eq!(appended.base_offset.get(), batch.base);
                    assert_eq!(appended.next_offset.get(), batch.next);
                }
                if self.model.epochs.last().is_none_or(|(epoch, _)| *epoch != self.epoch.0) {
                    self.model.epochs.push((self.epoch.0, batches[0].base));
                }
                self.model.batches.append(batches);
                Ok(())
            }
            Err(error) => {
                self.model.ghosts.append(batches);
                Err(error)
            }
        }
    }

    /// How many offsets a batch takes.
    fn span(&self, batch: &Stored) -> i64 {
        let records = batch.times.len();
        i64::try_from(match self.config.offset_unit {
            OffsetUnit::Record => records,
            OffsetUnit::Byte => records.max(batch.bytes.len()),
        })
        .unwrap()
    }

    /// Sends the producer's last batch once more: nothing is appended.
    fn append_again(&mut self) {
        let producer = self.producer;
        let last = self
            .model
            .batches
            .iter()
            .rev()
            .find(|batch| batch.sequence.is_some_and(|(id, _)| id == producer));
        let Some(original) = last.filter(|batch| batch.base >= self.model.log_start) else {
            return;
        };
        let at = AppendAt { epoch: self.epoch, now: self.clock.now() };
        let mut bytes = original.bytes.clone();
        let outcomes = self.log.append(&mut [&mut bytes], at).unwrap();
        let appended = outcomes[0].unwrap();
        assert!(appended.is_duplicate, "sequence {:?} was appended twice", original.sequence);
        assert_eq!(appended.base_offset.get(), original.base);
        assert_eq!(appended.next_offset.get(), original.next);
    }

    fn flush(&mut self) -> bool {
        assert_eq!(self.log.flush().unwrap().get(), self.model.end());
        self.flushed();
        true
    }

    fn flushed(&mut self) {
        self.model.flushed = self.model.end();
        self.model.ghosts.clear();
    }

    fn record_marks(&mut self) -> bool {
        self.recorded = self.log.checkpoint().unwrap();
        assert!(self.recorded.durable.get() <= self.model.flushed);
        true
    }

    fn roll(&mut self) -> bool {
        self.log.roll(self.clock.now()).unwrap();
        true
    }

    fn truncate(&mut self) -> bool {
        let to = self.cut_point();
        let end = self.log.truncate(Offset::new(to)).unwrap().get();
        assert!(
            end <= to
                && self.model.batches.iter().all(|b| b.base >= to || b.base < end || b.next > to),
            "a cut to {to} ended at {end}"
        );
        self.model.cut(end);
        self.forget_lost_producer();
        assert_eq!(self.model.end().max(self.model.log_start), end);
        self.reign()
    }

    /// Where to cut, with the marks lowered first as the contract asks.
    fn cut_point(&mut self) -> i64 {
        let span = self.model.end() - self.model.log_start;
        let most = if self.config.offset_unit == OffsetUnit::Byte { 3_000 } else { 20 };
        let back = self.random.below(span.unsigned_abs().min(most) + 1);
        let to = self.model.end() - i64::try_from(back).unwrap();
        let inside = self.model.batches.iter().find(|batch| batch.base < to && to < batch.next);
        // A cut within the batch at the log start would end below it.
        let to = match inside {
            Some(batch) if batch.base < self.model.log_start => batch.next,
            _ => to,
        };
        let end = inside.map_or(to, |batch| batch.base.max(self.model.log_start));
        let lowest = Offset::new(end.min(to));
        self.recorded.durable = self.recorded.durable.min(lowest);
        self.recorded.rebuild = self.recorded.rebuild.min(lowest);
        to
    }

    fn advance_log_start(&mut self) -> bool {
        let span = (self.model.end() - self.model.log_start).unsigned_abs();
        let to = self.model.log_start + i64::try_from(self.random.below(span + 1)).unwrap();
        let start = self.log.advance_log_start(Offset::new(to)).unwrap();
        assert_eq!(start.get(), to);
        if self.log.flushed_offset().get() > self.model.flushed {
            self.flushed();
        }
        self.model.log_start = to;
        if self.random.chance(2) {
            self.recorded.log_start = start;
        }
        let below = self.log.flushed_offset();
        self.log.delete_expired(self.clock.now(), below).unwrap();
        if self.random.chance(2) {
            self.clock.advance(self.config.file_delete_delay);
            self.log.remove_deleted(self.clock.monotonic()).unwrap();
        }
        true
    }

    /// A write that fails leaves no trace, a short one is gone on with.
    fn fail_one_write(&mut self) -> bool {
        let failure = match self.random.below(3) {
            0 => Failure::NoSpace,
            1 => Failure::InputOutput,
            _ => Failure::ShortWrite(self.random.index(100) + 1),
        };
        // The first append of an epoch writes other files as well.
        self.log.prepare().unwrap();
        self.disk.inject(Fault::new(Operation::Write, failure).on(".log"));
        let end = self.log.log_end_offset();
        let mut batches = self.batches();
        let result = self.submit(&mut batches);
        match failure {
            Failure::ShortWrite(_) => result.unwrap(),
            Failure::NoSpace => {
                assert!(matches!(result, Err(StorageError::OutOfSpace { .. })));
            }
            _ => assert!(matches!(result, Err(StorageError::Io { .. }))),
        }
        if !matches!(failure, Failure::ShortWrite(_)) {
            assert_eq!(self.log.log_end_offset(), end);
            self.check_contents();
        }
        true
    }

    /// A sync that fails ends the log's life in this process.
    fn fail_one_sync(&mut self) -> bool {
        if self.model.end() == self.model.flushed {
            return true;
        }
        self.disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(".log"));
        let flushed = self.log.flushed_offset();
        assert!(self.log.flush().is_err());
        self.lied = true;
        assert_eq!(self.log.flushed_offset(), flushed);
        let mut batches = self.batches();
        assert!(matches!(self.submit(&mut batches), Err(StorageError::Failed { .. })));
        assert!(matches!(self.log.flush(), Err(StorageError::Failed { .. })));
        let crash = if self.random.chance(2) { Crash::Power } else { Crash::Process };
        self.crash(crash)
    }

    fn reopen_in_order(&mut self) -> bool {
        let marks = self.log.close().unwrap();
        self.flushed();
        assert_eq!(marks.durable.get(), self.model.end());
        self.recorded = marks;
        let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
        self.log = self.open(start).unwrap();
        self.forget_lost_producer();
        self.reign()
    }

    /// The machine goes down in the middle of something.
    fn die(&mut self) -> bool {
        for operation in [
            Operation::Write,
            Operation::SetLen,
            Operation::SyncData,
            Operation::SyncDir,
            Operation::Rename,
            Operation::Remove,
            Operation::Open,
        ] {
            let call = 1 + self.random.below(6);
            self.disk.inject(Fault::new(operation, Failure::InputOutput).at_call(call).for_ever());
        }
        match self.random.below(6) {
            0 => {
                let mut batches = self.batches();
                let _ = self.submit(&mut batches);
            }
            1 => {
                if self.log.flush().is_ok() {
                    self.flushed();
                }
            }
            2 => {
                if let Ok(marks) = self.log.checkpoint() {
                    self.recorded = marks;
                }
            }
            3 => {
                if let Ok(marks) = self.log.close() {
                    assert_eq!(marks.durable.get(), self.model.end());
                }
            }
            4 => self.die_cutting(),
            _ => {
                let below = self.log.flushed_offset();
                if let Ok(start) = self.log.advance_log_start(below) {
                    self.model.log_start = start.get();
                    let _ = self.log.delete_expired(self.clock.now(), below);
                }
            }
        }
        self.model.flushed = self.model.flushed.max(self.log.flushed_offset().get());
        self.crash(Crash::Power)
    }

    fn die_cutting(&mut self) {
        let to = self.cut_point();
        let before = self.model.batches.clone();
        let kept = before.iter().filter(|batch| batch.next <= to);
        let end = kept.map(|batch| batch.next).max().unwrap_or(self.model.log_start);
        let uncut = self.log.log_end_offset();
        let _ = self.log.truncate(Offset::new(to));
        if self.log.log_end_offset() == uncut {
            return;
        }
        let epochs = self.model.epochs.clone();
        self.model.cut(end);
        self.model.epochs = epochs;
        self.model.ghosts.extend(before.into_iter().filter(|batch| batch.next > end));
    }

    fn crash(&mut self, crash: Crash) -> bool {
        if crash == Crash::Power {
            self.disk = self.disk.crash(self.random.number()).unwrap();
            self.disk.clear_faults();
            self.lied = false;
        }
        // The first recovery may be interrupted too.
        if self.random.chance(4) {
            let operation =
                [Operation::SyncData, Operation::SetLen, Operation::Rename][self.random.index(3)];
            let call = 1 + self.random.below(4);
            self.disk.inject(Fault::new(operation, Failure::InputOutput).at_call(call).for_ever());
            if self.open(self.unclean(crash)).is_err() {
                self.lied |= operation == Operation::SyncData;
            }
            self.disk.clear_faults();
            if crash == Crash::Power && self.random.chance(2) {
                self.disk = self.disk.crash(self.random.number()).unwrap();
                self.lied = false;
            }
        }
        let first = self.open(self.unclean(crash)).unwrap();
        let contents = contents(&first);
        let damages = first.damages();
        self.log = first;
        if self.random.chance(2) {
            self.recorded = self.log.marks();
        }
        // I6: reading it all once more changes nothing.
        let second = self.open(self.unclean(crash)).unwrap();
        assert_eq!(second.damages(), damages);
        assert_eq!(second.log_end_offset(), self.log.log_end_offset());
        assert_eq!(self::contents(&second), contents);
        self.log = second;
        self.recorded = self.log.marks();
        self.take_over(crash, contents)
    }

    fn unclean(&self, crash: Crash) -> StartPoint {
        let Marks { log_start, durable, rebuild } = self.recorded;
        StartPoint::Unclean { log_start, durable, rebuild, same_boot: crash == Crash::Process }
    }

    /// I4: what was recovered is what was written, and nothing flushed is missing. The model goes
    /// on from it.
    fn take_over(&mut self, crash: Crash, recovered: Vec<Stored>) -> bool {
        let start = self.log.log_start_offset().get();
        assert!(start <= self.model.log_start, "the log starts at {start}");
        if !self.log.damages().is_empty() {
            assert!(crash == Crash::Process && self.lied, "{:?}", self.log.damages());
            let first = self.log.damages()[0].first.get();
            assert!(first >= self.model.flushed, "flushed records are damaged from {first} on");
            return false;
        }
        let end = self.log.log_end_offset().get();
        assert!(
            end >= self.model.flushed,
            "recovered up to {end}, flushed up to {}",
            self.model.flushed
        );
        if crash == Crash::Process && !self.lied {
            assert!(end >= self.model.end(), "{end} of {} are left", self.model.end());
        }
        for batch in &recovered {
            let known = self.model.batches.iter().find(|known| known.base == batch.base);
            if known.is_some_and(|known| known.bytes == batch.bytes) {
                continue;
            }
            assert!(batch.base >= self.model.flushed, "flushed bytes changed at {}", batch.base);
            let ghost = self.model.ghosts.iter().find(|ghost| ghost.bytes == batch.bytes);
            assert!(ghost.is_some(), "nobody wrote what is at {}", batch.base);
        }
        self.model.epochs.clear();
        let kept = self.model.batches.iter().filter(|batch| batch.records_end() <= start).cloned();
        let mut batches: Vec<Stored> = kept.collect();
        batches.extend(recovered);
        for batch in &batches {
            let epoch = epoch_of(batch);
            if self.model.epochs.last().is_none_or(|(last, _)| *last != epoch) {
                self.model.epochs.push((epoch, batch.base));
            }
        }
        self.model.batches = batches;
        self.model.log_start = start;
        self.model.ghosts.clear();
        self.model.flushed = end;
        assert_eq!(self.log.flushed_offset().get(), end);
        assert_eq!(self.model.end().max(start), end);
        self.forget_lost_producer();
        self.reign()
    }

    /// Whether a producer whose batches are all deleted is remembered depends on snapshots.
    fn forget_lost_producer(&mut self) {
        let producer = self.producer;
        let is_theirs = |batch: &Stored| batch.sequence.is_some_and(|(id, _)| id == producer);
        if !self.model.readable().any(is_theirs) {
            self.producer = ProducerId(self.producer.0 + 1);
        }
    }

    fn open(&self, start: StartPoint) -> Result<Log, StorageError> {
        open(&self.disk, &self.clock, &self.config, start)
    }

    fn reign(&mut self) -> bool {
        self.epoch = LeaderEpoch(self.epoch.0 + 1);
        assert_eq!(self.log.start_epoch(self.epoch).unwrap().get(), self.model.end());
        true
    }

    /// I2.
    fn check_bounds(&self) {
        let start = self.log.log_start_offset().get();
        let flushed = self.log.flushed_offset().get();
        let end = self.log.log_end_offset().get();
        assert!(start <= flushed && flushed <= end, "{start} {flushed} {end}");
        assert_eq!(
            (start, flushed, end),
            (self.model.log_start, self.model.flushed, self.model.end().max(start))
        );
    }

    /// I1, I3, I7: all reads give what was appended, however they are cut into pieces.
    fn check_contents(&mut self) {
        let expected: Vec<&Stored> = self.model.readable().collect();
        let found = contents(&self.log);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!((found.base, &found.bytes), (expected.base, &expected.bytes));
        }
        let (start, end) = (self.model.log_start, self.model.end());
        for _ in 0..3 {
            let span = (end - start).unsigned_abs();
            let from = start + i64::try_from(self.random.below(span + 1)).unwrap();
            let below = from + i64::try_from(self.random.below(span + 1)).unwrap();
            let max_bytes = self.random.below(2_000);
            self.check_read(from, below, (max_bytes, self.random.clone().chance(2)));
        }
    }

    fn check_read(&self, from: i64, below: i64, (max_bytes, at_least_one): (u64, bool)) {
        let below = Offset::new(below);
        let limit = ReadLimit { max_bytes, below, at_least_one_batch: at_least_one };
        let range = self.log.read(Offset::new(from), limit).unwrap();
        let first = self.model.readable().find(|batch| batch.records_end() > from);
        let Some(range) = range else {
            let whole = first.filter(|batch| batch.next <= below.get());
            let fits = whole.is_some_and(|batch| batch.bytes.len() as u64 <= max_bytes);
            assert!(!fits && (whole.is_none() || !at_least_one), "nothing read at {from}");
            return;
        };
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        let mut next = first.unwrap().base;
        for (number, batch) in Batches::new(&bytes).enumerate() {
            let batch = batch.unwrap();
            let known = self.model.batches.iter().find(|known| known.base == next).unwrap();
            assert_eq!(batch.bytes(), known.bytes);
            assert!(known.next <= below.get());
            assert!(range.length <= max_bytes || (at_least_one && number == 0));
            next = known.next;
        }
        let following = self.model.batches.iter().find(|known| known.base == next);
        let room = max_bytes.saturating_sub(range.length);
        let is_short = following
            .is_some_and(|batch| batch.next <= below.get() && batch.bytes.len() as u64 <= room);
        // A read ends at its segment's end, whose size the model does not know.
        let ends_file = range.position + range.length == range.file.len().unwrap();
        assert!(!is_short || ends_file, "the read from {from} stops at {next}");
    }

    /// I5: looking up times and epochs gives what going through all records gives.
    fn check_times(&mut self) {
        for _ in 0..5 {
            let ahead = i64::try_from(self.random.below(400)).unwrap() - 50;
            let wanted = NOW + ahead;
            let records = self.model.readable().flat_map(|batch| {
                batch
                    .times
                    .iter()
                    .enumerate()
                    .map(|(index, time)| (batch.base + i64::try_from(index).unwrap(), *time))
            });
            let start = self.model.log_start;
            let expected =
                records.filter(|(offset, _)| *offset >= start).find(|(_, time)| *time >= wanted);
            let found = self.log.offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
            let found = found.map(|record| (record.offset.get(), record.timestamp.millis()));
            assert_eq!(found, expected, "at or after {ahead}");
        }
        let entries = self.log.epochs().unwrap();
        for (index, (epoch, begin)) in self.model.epochs.iter().enumerate() {
            let end = self.model.epochs.get(index + 1).map_or(self.model.end(), |next| next.1);
            if *begin >= self.model.log_start {
                let epoch = LeaderEpoch(*epoch);
                let known = self.log.epoch_end(epoch).unwrap();
                assert_eq!(known, Some((epoch, Offset::new(end))), "{entries:?}");
            }
        }
    }
}

fn epoch_of(batch: &Stored) -> i32 {
    i32::from_be_bytes(batch.bytes[12..16].try_into().unwrap())
}

fn open(
    disk: &FaultyDisk,
    clock: &Arc<ManualClock>,
    config: &Arc<LogConfig>,
    start: StartPoint,
) -> Result<Log, StorageError> {
    let env = LogEnv {
        disk: Arc::new(disk.clone()),
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        producers: ProducerLimits::default(),
    };
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
    Log::open(&env, PathBuf::from("/data/t-0"), partition, Arc::clone(config), start)
}

/// All batches that can be read; at damage the rest is left out.
fn contents(log: &Log) -> Vec<Stored> {
    let mut found = Vec::new();
    let mut from = log.log_start_offset();
    let below = log.log_end_offset();
    let limit = ReadLimit { max_bytes: 1 << 20, below, at_least_one_batch: true };
    loop {
        let range = match log.read(from, limit) {
            Ok(Some(range)) => range,
            Ok(None) | Err(StorageError::Corrupt { .. }) => return found,
            Err(error) => panic!("reading at {from}: {error}"),
        };
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.check_checksum().unwrap();
            let limits = crate::record::Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            let records = batch.records(&payload, &limits);
            let times = records.map(|record| batch.timestamp_of(&record.unwrap()).millis());
            found.push(Stored {
                base: batch.base_offset().get(),
                next: batch.next_offset().get(),
                times: times.collect(),
                sequence: batch.producer().map(|stamp| (stamp.id, stamp.base_sequence)),
                bytes: batch.bytes().to_vec(),
            });
            from = batch.next_offset();
        }
    }
}

/// Runs the seeds on both cores; the first that fails is named.
#[test]
fn a_log_is_what_was_appended_whatever_fails() {
    if let Ok(seed) = std::env::var("STREAMLOG_SEED") {
        World::new(seed.parse().unwrap()).live();
        return;
    }
    let seeds = std::env::var("STREAMLOG_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || {
                for seed in (part..seeds).step_by(2) {
                    let named = Named(seed);
                    World::new(seed).live();
                    std::mem::forget(named);
                }
            });
        }
    });
}

/// Names the seed when the life of its world ends in a panic.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        eprintln!("failed with STREAMLOG_SEED={}", self.0);
    }
}
