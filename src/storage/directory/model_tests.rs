//! Several logs in a data directory against a model of them, under random appends, flushes,
//! truncations, removals, checkpoints, stops, kills and power failures.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::crash_tests::{StoppingDisk, raises_no_alarm, records};
use super::directory_tests::{DATA, World, append_in, partition, topic};
use crate::io::faulty::FaultyDisk;
use crate::io::{Disk, MemoryDisk, SeededRandom};
use crate::storage::{DataDir, HighWatermarks, Log, StorageError, verify};
use crate::types::{LeaderEpoch, Offset, each_seed};

const SEEDS: u64 = 300;
const PARTITIONS: u64 = 3;

/// A log as it should be.
#[derive(Clone, Debug)]
struct Expected {
    topic: u8,
    /// The offset after the last record appended.
    end: i64,
    /// The offset below which records are guaranteed to survive.
    durable: i64,
    /// The highest high watermark recorded.
    high_watermark: i64,
}

struct Model {
    random: SeededRandom,
    disk: FaultyDisk,
    boot: u32,
    logs: BTreeMap<i32, Expected>,
    topics: u8,
    epoch: i32,
    /// The log whose creation or removal was interrupted, and its state if it exists.
    in_doubt: Option<(i32, Expected)>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stop,
    Kill,
    PowerFailure,
}

impl Model {
    fn new(seed: u64) -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
        let mut random = SeededRandom::new(seed);
        disk.set_write_back(random.below(2) * 10);
        Self { random, disk, boot: 1, logs: BTreeMap::new(), topics: 0, epoch: 0, in_doubt: None }
    }

    fn live(&mut self) {
        for _ in 0..6 {
            let steps = i64::try_from(self.random.below(300)).unwrap();
            let stopping = StoppingDisk::new(&self.disk, steps);
            let world = self.world(Arc::new(stopping.clone()));
            let done = self.run(&world);
            assert_eq!(done.is_err(), stopping.has_stopped(), "{done:?}");
            let mut end = End::Stop;
            if done.is_err() {
                end = if self.random.below(2) == 0 { End::Kill } else { End::PowerFailure };
            }
            if end == End::PowerFailure {
                self.disk = self.disk.crash(self.random.number()).unwrap();
                self.boot += 1;
            }
            self.check(end);
        }
    }

    fn world(&self, disk: Arc<dyn Disk>) -> World {
        let mut world = World::on(disk);
        world.boot_id = format!("boot-{}", self.boot);
        world
    }

    /// A run: opens the directory, does random operations, and shuts it down cleanly.
    fn run(&mut self, world: &World) -> Result<(), StorageError> {
        let directory = world.open()?;
        for _ in 0..self.random.below(25) {
            let index = i32::try_from(self.random.below(PARTITIONS)).unwrap();
            match self.random.below(10) {
                0..=4 => self.append(&directory, index)?,
                5 | 6 => self.flush(&directory, index)?,
                7 => self.checkpoint(&directory)?,
                8 => self.truncate(&directory, index)?,
                _ => self.remove(&directory, index)?,
            }
        }
        let high_watermarks = self.high_watermarks();
        directory.close(&high_watermarks)?;
        for expected in self.logs.values_mut() {
            expected.durable = expected.end;
        }
        Ok(())
    }

    fn append(&mut self, directory: &DataDir, index: i32) -> Result<(), StorageError> {
        let log = self.log(directory, index)?;
        let count = i64::try_from(1 + self.random.below(4)).unwrap();
        self.epoch += 1;
        append_in(&log, LeaderEpoch(self.epoch), count)?;
        self.expected(index).end += count;
        assert_eq!(log.log_end_offset().get(), self.expected(index).end);
        Ok(())
    }

    /// The log, created if absent.
    fn log(&mut self, directory: &DataDir, index: i32) -> Result<Arc<Log>, StorageError> {
        if let Some(expected) = self.logs.get(&index) {
            return directory.create_log(&partition(index), topic(expected.topic));
        }
        self.topics += 1;
        let fresh = Expected { topic: self.topics, end: 0, durable: 0, high_watermark: 0 };
        self.in_doubt = Some((index, fresh.clone()));
        let log = directory.create_log(&partition(index), topic(fresh.topic))?;
        self.in_doubt = None;
        self.logs.insert(index, fresh);
        Ok(log)
    }

    fn flush(&mut self, directory: &DataDir, index: i32) -> Result<(), StorageError> {
        if let Some(log) = directory.log(&partition(index))? {
            let expected = self.expected(index);
            expected.durable = log.flush()?.get();
            assert_eq!(expected.durable, expected.end);
        }
        Ok(())
    }

    fn checkpoint(&mut self, directory: &DataDir) -> Result<(), StorageError> {
        let high_watermarks = self.high_watermarks();
        directory.checkpoint(&high_watermarks)?;
        for ((partition, _), offset) in high_watermarks {
            self.expected(partition.partition.0).high_watermark = offset.get();
        }
        Ok(())
    }

    fn truncate(&mut self, directory: &DataDir, index: i32) -> Result<(), StorageError> {
        let Some(log) = directory.log(&partition(index))? else { return Ok(()) };
        let before = self.expected(index).clone();
        let to = self.random.below(before.end.cast_unsigned() + 1).cast_signed();
        let after = Expected {
            end: to,
            durable: before.durable.min(to),
            high_watermark: before.high_watermark.min(to),
            ..before
        };
        // Until the truncation has succeeded, only the records below it are guaranteed.
        let bounds = Expected { end: before.end, ..after.clone() };
        self.logs.insert(index, bounds);
        directory.truncate_log(&log, Offset::new(to))?;
        // Now the truncation is durable.
        self.logs.insert(index, after);
        Ok(())
    }

    fn remove(&mut self, directory: &DataDir, index: i32) -> Result<(), StorageError> {
        let Some(expected) = self.logs.remove(&index) else { return Ok(()) };
        let topic_id = topic(expected.topic).topic_id;
        self.in_doubt = Some((index, expected));
        directory.remove_log(&partition(index), topic_id)?;
        self.in_doubt = None;
        directory.remove_deleted()?;
        Ok(())
    }

    fn high_watermarks(&self) -> HighWatermarks {
        let of = |(index, log): (&i32, &Expected)| {
            ((partition(*index), topic(log.topic).topic_id), Offset::new(log.durable))
        };
        self.logs.iter().map(of).collect()
    }

    fn expected(&mut self, index: i32) -> &mut Expected {
        self.logs.get_mut(&index).unwrap()
    }

    /// Checks the next opening against the expectation, and continues with the logs that it finds.
    fn check(&mut self, end: End) {
        let shared: Arc<dyn Disk> = Arc::new(self.disk.clone());
        raises_no_alarm(&shared);
        let world = self.world(Arc::clone(&shared));
        let directory = world.open().unwrap();
        let report = directory.start_report();
        assert!(end != End::Stop || report.was_clean, "{report:?}");
        assert!(report.unusable.is_empty() && report.quarantined.is_empty(), "{report:?}");
        let found: BTreeMap<_, _> = directory.partitions().into_iter().collect();
        if let Some((index, log)) = self.in_doubt.take()
            && found.get(&partition(index)).is_some_and(|metadata| *metadata == topic(log.topic))
        {
            self.logs.insert(index, log);
        }
        assert_eq!(found.len(), self.logs.len(), "{found:?}");
        for (index, expected) in &mut self.logs {
            assert_eq!(found[&partition(*index)], topic(expected.topic));
            let log = directory.log(&partition(*index)).unwrap().unwrap();
            assert!(log.checks().damages().is_empty(), "{log:?}: {:?}", log.checks().damages());
            let log_end = log.log_end_offset().get();
            assert!(log_end >= expected.durable, "{log:?} lost what was flushed: {expected:?}");
            assert_eq!(records(&log), log_end);
            let recorded = directory.high_watermark(&partition(*index)).map_or(0, Offset::get);
            assert!(recorded >= expected.high_watermark, "{recorded}: {expected:?}");
            (expected.end, expected.durable) = (log_end, log_end);
        }
        drop(directory);
        for report in verify(&shared, Path::new(DATA)).unwrap() {
            assert!(report.is_sound(), "{:?}: {:?}", report.dir, report.findings);
        }
    }
}

#[test]
fn a_directory_keeps_all_durable_records_whatever_happens() {
    each_seed(SEEDS, |seed| Model::new(seed).live());
}
