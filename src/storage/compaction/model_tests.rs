//! Compaction against a plain list of records, on a machine that crashes.
//!
//! Every seed gives the history of a log: appends, rolls, passing time, and compactions with much
//! or little memory, complete or interrupted. The process or the machine crashes at times, also in
//! the middle of a compaction.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::kept_tests::{
    DIR, History, Kept, NOW, batch_of, check_files, compact_below, contents, first_from, open,
    settings,
};
use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, Disk, ManualClock, MemoryDisk, SeededRandom};
use crate::record::{Compression, ProducerStamp};
use crate::storage::compaction::{Bounds, Candidate, Effort, Pass, compact};
use crate::storage::{AppendAt, CheckpointOffsets, Log, LogConfig, StartPoint};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp, each_seed};

const SEEDS: u64 = 1_000;
const STEPS: u64 = 45;
const MUCH: u64 = 1 << 20;

struct World {
    random: SeededRandom,
    disk: FaultyDisk,
    clock: Arc<ManualClock>,
    config: LogConfig,
    log: Arc<Log>,
    history: History,
    recorded: CheckpointOffsets,
    epoch: LeaderEpoch,
    producer: ProducerId,
    /// The next sequence, and the producer's last batch as sent, with its offset.
    sequence: i32,
    last_sent: Option<(Vec<u8>, i64)>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), random.number());
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        disk.set_write_back([0, 3, 20][random.index(3)]);
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(NOW)));
        let config = settings(random.between(300, 3_000));
        let log = open(Arc::new(disk.clone()), &clock, &config, StartPoint::New).unwrap();
        let zero = Offset::ZERO;
        let mut world = Self {
            random,
            disk,
            clock,
            config,
            log,
            history: History::default(),
            recorded: CheckpointOffsets { log_start: zero, durable: zero, rebuild: zero },
            epoch: LeaderEpoch(-1),
            producer: ProducerId(0),
            sequence: 0,
            last_sent: None,
        };
        world.start_epoch();
        world
    }

    fn run(&mut self) {
        for _ in 0..STEPS {
            self.clock.advance(Duration::from_millis(self.random.below(20)));
            match self.random.below(28) {
                0..=10 => self.append(),
                11..=13 => self.flush(),
                14..=15 => self.log.tail().roll(self.clock.now()).unwrap(),
                16..=20 => self.compact(),
                21 => self.compact_a_little(),
                22 => self.crash_while_compacting(),
                23 => self.clock.advance(self.config.delete_retention),
                24 => self.crash(false),
                25 => self.crash(true),
                26 => self.reopen_in_order(),
                _ => self.send_again(),
            }
            if self.random.chance(5) {
                self.check();
            }
        }
        self.check();
        self.check_reads();
        self.reopen_in_order();
        check_files(&(Arc::new(self.disk.clone()) as Arc<dyn Disk>));
        let now = self.clock.now().millis();
        History::check_times(&self.log, (0..6).map(|step| now - step * 40));
    }

    fn append(&mut self) {
        let mut records = Vec::new();
        let count = 1 + i64::try_from(self.random.below(4)).unwrap();
        for offset in self.end()..self.end() + count {
            let name = u8::try_from(self.random.below(7)).unwrap();
            let size = self.random.index(80);
            let late = i64::try_from(self.random.below(15)).unwrap();
            records.push(Kept {
                offset,
                key: (!self.random.chance(30)).then(|| vec![name; usize::from(name)]),
                value: (!self.random.chance(4)).then(|| vec![name; size]),
                time: self.clock.now().millis() - late,
            });
        }
        // Compress only rarely, because creating a compressor costs more than everything else.
        let is_packed = self.random.chance(8);
        let codec = Compression::ALL[if is_packed { self.random.index(5) } else { 0 }];
        let stamp = self.random.chance(3).then_some(ProducerStamp {
            id: self.producer,
            epoch: ProducerEpoch(0),
            base_sequence: self.sequence,
        });
        let mut bytes = batch_of(&records, codec, stamp);
        let sent = bytes.clone();
        let outcome = self.log.append(&mut [&mut bytes], self.at()).unwrap()[0].unwrap();
        assert_eq!((outcome.base_offset.get(), outcome.is_duplicate), (self.end(), false));
        if stamp.is_some() {
            self.sequence += i32::try_from(records.len()).unwrap();
            self.last_sent = Some((sent, self.end()));
        }
        self.history.records.append(&mut records);
    }

    /// Sends the producer's last batch again. It is recognized as a duplicate, however little of it
    /// compaction has left.
    fn send_again(&mut self) {
        let Some((mut bytes, offset)) = self.last_sent.clone() else { return };
        let outcome = self.log.append(&mut [&mut bytes], self.at()).unwrap()[0].unwrap();
        assert_eq!((outcome.base_offset.get(), outcome.is_duplicate), (offset, true));
    }

    fn flush(&mut self) {
        assert_eq!(self.log.flush().unwrap().get(), self.end());
        self.recorded = self.log.checkpoints().advance().unwrap();
    }

    fn compact(&mut self) {
        let below = self.touch();
        let done = compact_below(&self.log, below, self.clock.now(), MUCH).unwrap();
        if let Pass::Done { below, .. } = done {
            History::check_clean(&self.log, below.get());
            self.check();
        }
    }

    /// Compacts with memory for a few keys, or stops the compaction after a few batches.
    fn compact_a_little(&mut self) {
        let below = self.touch();
        if self.random.chance(2) {
            // Space for 14 keys; there are seven, so it must suffice.
            compact_below(&self.log, below, self.clock.now(), 1).unwrap();
        }
        let bounds = Bounds { below, now: self.clock.now() };
        let candidate = Candidate::of(&self.log, bounds).unwrap();
        let left = std::cell::Cell::new(self.random.below(40));
        let keep_going = |_| left.replace(left.get().saturating_sub(1)) > 0;
        let map_size = ByteSize(MUCH);
        let effort = Effort { map_size, now: bounds.now, directory: None, keep_going: &keep_going };
        compact(&candidate, &effort).unwrap();
    }

    /// Returns the offset below which the log may be compacted, and records that limit in the
    /// history.
    fn touch(&mut self) -> Offset {
        let closed = self.log.compactable().closed().unwrap().segments;
        let end = closed.last().map_or(0, |closed| closed.next_offset.get());
        let below = self.recorded.durable;
        self.history.touched_below = self.history.touched_below.max(end.min(below.get()));
        below
    }

    /// Lets the power fail in the middle of a compaction.
    fn crash_while_compacting(&mut self) {
        let below = self.touch();
        let calls = self.random.between(1, 12);
        for operation in [
            Operation::Write,
            Operation::SyncData,
            Operation::SyncDir,
            Operation::Rename,
            Operation::Remove,
        ] {
            let call = 1 + self.random.below(calls);
            self.disk.inject(Fault::new(operation, Failure::InputOutput).at_call(call).for_ever());
        }
        let _ = compact_below(&self.log, below, self.clock.now(), MUCH);
        self.crash(true);
    }

    fn crash(&mut self, power: bool) {
        let flushed = self.log.flushed_offset().get();
        if power {
            self.disk = self.disk.crash(self.random.number()).unwrap();
        }
        self.disk.clear_faults();
        if self.random.chance(3) {
            self.lose_snapshots();
        }
        let CheckpointOffsets { log_start, durable, rebuild } = self.recorded;
        let start = StartPoint::Unclean { log_start, durable, rebuild, same_boot: !power };
        self.log = self.open(start);
        assert_eq!(self.log.checks().damages(), []);
        let end = self.log.log_end_offset().get();
        assert!(end >= flushed, "{flushed} records were flushed, {end} are there");
        self.history.records.retain(|record| record.offset < end);
        assert_eq!(self.end(), end);
        if self.last_sent.as_ref().is_some_and(|(_, offset)| *offset >= end) {
            self.forget_producer();
        }
        self.recorded = self.log.checkpoints().offsets();
        self.start_epoch();
        self.check();
    }

    fn lose_snapshots(&mut self) {
        for entry in self.disk.list(Path::new(DIR)).unwrap_or_default() {
            if entry.name.ends_with(".snapshot") {
                self.disk.remove_file(&Path::new(DIR).join(entry.name)).unwrap();
            }
        }
    }

    /// Replaces the producer, whose last batch was lost.
    fn forget_producer(&mut self) {
        self.producer = ProducerId(self.producer.0 + 1);
        self.sequence = 0;
        self.last_sent = None;
    }

    fn reopen_in_order(&mut self) {
        let marks = self.log.close().unwrap();
        assert_eq!(marks.durable.get(), self.end());
        let (log_start, log_end) = (marks.log_start, marks.durable);
        self.log = self.open(StartPoint::Clean { log_start, log_end });
        self.recorded = marks;
        self.start_epoch();
    }

    fn open(&self, start: StartPoint) -> Arc<Log> {
        open(Arc::new(self.disk.clone()), &self.clock, &self.config, start).unwrap()
    }

    fn start_epoch(&mut self) {
        self.epoch = LeaderEpoch(self.epoch.0 + 1);
        assert_eq!(self.log.start_epoch(self.epoch).unwrap().get(), self.end());
    }

    fn at(&self) -> AppendAt {
        AppendAt { epoch: self.epoch, now: self.clock.now() }
    }

    fn end(&self) -> i64 {
        self.history.records.last().map_or(0, |record| record.offset + 1)
    }

    fn check(&self) {
        self.history.check(&self.log, self.clock.now().millis(), &self.config);
    }

    /// Checks that a read at every offset, present or not, returns the first record from there on.
    fn check_reads(&self) {
        let found = contents(&self.log);
        for from in 0..self.end() {
            let next = found.iter().find(|record| record.offset >= from);
            assert!(
                self.log.epochs().at(Offset::new(from)).unwrap().is_some(),
                "{from} has no epoch"
            );
            let read = first_from(&self.log, from);
            assert_eq!(read.as_ref(), next, "from {from}");
        }
    }
}

#[test]
fn no_key_loses_its_last_value_whatever_fails() {
    each_seed(SEEDS, |seed| World::new(seed).run());
}
