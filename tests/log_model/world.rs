//! The history of a log: random operations, and checks of their results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::faults::Crash;
use crate::plain::{Model, Stored};
use streamlog::config::ByteSize;
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, ManualClock, MemoryDisk, OpenFiles, SeededRandom, Share};
use streamlog::record::{BatchBuilder, BatchSettings, Compression, Compressor, ProducerStamp};
use streamlog::storage::{
    AppendAt, CheckpointOffsets, ColdReads, Log, LogConfig, LogEnv, OffsetUnit, ProducerLimits,
    StartPoint, StorageError,
};
use streamlog::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicPartition,
    each_seed,
};

const SEEDS: u64 = 10_000;
const STEPS: u64 = 60;
pub(crate) const NOW: i64 = 1_700_000_000_000;

pub(crate) struct World {
    pub(crate) random: SeededRandom,
    pub(crate) disk: FaultyDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) value_size_max: u64,
    pub(crate) log: Log,
    pub(crate) model: Model,
    /// The offsets recorded on the disk.
    pub(crate) recorded: CheckpointOffsets,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) producer: ProducerId,
    /// True if a sync has failed since the machine started: cached bytes then prove nothing.
    pub(crate) lied: bool,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
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
            recorded: CheckpointOffsets { log_start: zero, durable: zero, rebuild: zero },
            epoch: LeaderEpoch(-1),
            producer: ProducerId(1),
            lied: false,
        };
        world.start_epoch();
        world
    }

    /// Runs a history. It ends early if the log is damaged, because the model cannot continue then.
    pub(crate) fn run(&mut self) {
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
                _ => self.start_epoch(),
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

    pub(crate) fn append(&mut self) -> bool {
        let mut batches = self.batches();
        self.submit(&mut batches).unwrap();
        if self.random.chance(6) {
            self.append_again();
        }
        true
    }

    /// Up to three new batches, the first possibly of an idempotent producer.
    pub(crate) fn batches(&mut self) -> Vec<Stored> {
        let count = 1 + self.random.below(3);
        let sequence = self.model.next_sequence(self.producer);
        let stamped = self.random.chance(2).then_some((self.producer, sequence));
        (0..count).map(|n| self.batch(stamped.filter(|_| n == 0))).collect()
    }

    pub(crate) fn batch(&mut self, sequence: Option<(ProducerId, i32)>) -> Stored {
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
            // Give the batch more records than bytes.
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

    /// Appends batches to the log and to the model. If the log refuses them, they become ghosts.
    pub(crate) fn submit(&mut self, batches: &mut Vec<Stored>) -> Result<(), StorageError> {
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

    /// The number of offsets that a batch takes.
    pub(crate) fn span(&self, batch: &Stored) -> i64 {
        let records = batch.times.len();
        i64::try_from(match self.config.offset_unit {
            OffsetUnit::Record => records,
            OffsetUnit::Byte => records.max(batch.bytes.len()),
        })
        .unwrap()
    }

    /// Sends the producer's last batch once more: nothing is appended.
    pub(crate) fn append_again(&mut self) {
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

    pub(crate) fn flush(&mut self) -> bool {
        assert_eq!(self.log.flush().unwrap().get(), self.model.end());
        self.flushed();
        true
    }

    pub(crate) fn flushed(&mut self) {
        self.model.flushed = self.model.end();
        self.model.ghosts.clear();
    }

    pub(crate) fn record_marks(&mut self) -> bool {
        self.recorded = self.log.checkpoints().advance().unwrap();
        assert!(self.recorded.durable.get() <= self.model.flushed);
        true
    }

    pub(crate) fn roll(&mut self) -> bool {
        self.log.tail().roll(self.clock.now()).unwrap();
        true
    }

    pub(crate) fn truncate(&mut self) -> bool {
        let to = self.cut_point();
        let end = self.log.truncator().cut(Offset::new(to)).unwrap().get();
        assert!(
            end <= to
                && self.model.batches.iter().all(|b| b.base >= to || b.base < end || b.next > to),
            "a cut to {to} ended at {end}"
        );
        self.model.cut(end);
        self.forget_lost_producer();
        assert_eq!(self.model.end().max(self.model.log_start), end);
        self.start_epoch()
    }

    /// Chooses where to truncate, and lowers the recorded offsets first, as the contract demands.
    pub(crate) fn cut_point(&mut self) -> i64 {
        let span = self.model.end() - self.model.log_start;
        let most = if self.config.offset_unit == OffsetUnit::Byte { 3_000 } else { 20 };
        let back = self.random.below(span.unsigned_abs().min(most) + 1);
        let to = self.model.end() - i64::try_from(back).unwrap();
        let inside = self.model.batches.iter().find(|batch| batch.base < to && to < batch.next);
        // A truncation within the batch that contains the log start would end below the log start.
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

    pub(crate) fn advance_log_start(&mut self) -> bool {
        let span = (self.model.end() - self.model.log_start).unsigned_abs();
        let to = self.model.log_start + i64::try_from(self.random.below(span + 1)).unwrap();
        let start = self.log.retention().advance_log_start(Offset::new(to)).unwrap();
        assert_eq!(start.get(), to);
        if self.log.flushed_offset().get() > self.model.flushed {
            self.flushed();
        }
        self.model.log_start = to;
        if self.random.chance(2) {
            self.recorded.log_start = start;
        }
        let below = self.log.flushed_offset();
        self.log.retention().delete_expired(self.clock.now(), below).unwrap();
        if self.random.chance(2) {
            self.clock.advance(self.config.file_delete_delay);
            self.log.retention().remove_deleted(self.clock.monotonic()).unwrap();
        }
        true
    }

    pub(crate) fn reopen_in_order(&mut self) -> bool {
        let marks = self.log.close().unwrap();
        self.flushed();
        assert_eq!(marks.durable.get(), self.model.end());
        self.recorded = marks;
        let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
        self.log = self.open(start).unwrap();
        self.forget_lost_producer();
        self.start_epoch()
    }

    /// Snapshots decide whether a producer without batches in the log is still known.
    pub(crate) fn forget_lost_producer(&mut self) {
        let producer = self.producer;
        let is_theirs = |batch: &Stored| batch.sequence.is_some_and(|(id, _)| id == producer);
        if !self.model.readable().any(is_theirs) {
            self.producer = ProducerId(self.producer.0 + 1);
        }
    }

    pub(crate) fn open(&self, start: StartPoint) -> Result<Log, StorageError> {
        open(&self.disk, &self.clock, &self.config, start)
    }

    pub(crate) fn start_epoch(&mut self) -> bool {
        self.epoch = LeaderEpoch(self.epoch.0 + 1);
        assert_eq!(self.log.start_epoch(self.epoch).unwrap().get(), self.model.end());
        true
    }
}

fn open(
    disk: &FaultyDisk,
    clock: &Arc<ManualClock>,
    config: &Arc<LogConfig>,
    start: StartPoint,
) -> Result<Log, StorageError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let env = LogEnv {
        // Use a tiny cache, so that files are closed and opened all the time.
        files: OpenFiles::new(Arc::clone(&disk), Share::Fixed(1)),
        disk,
        cold_reads: ColdReads::default(),
        reserve: None,
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        producers: ProducerLimits::default(),
    };
    let partition = TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
    Log::open(&env, PathBuf::from("/data/t-0"), partition, Arc::clone(config), start)
}

#[test]
fn a_log_holds_the_appended_batches_whatever_fails() {
    each_seed(SEEDS, |seed| World::new(seed).run());
}
