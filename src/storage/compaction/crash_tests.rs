//! Compactions with a kill of the process, or a power failure, at every single step.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::kept_tests::{
    History, Kept, NOW, batch_of, check_files, compact_below, contents, open, settings,
};
use crate::io::faulty::FaultyDisk;
use crate::io::{Clock, Disk, ManualClock, MemoryDisk};
use crate::record::Compression;
use crate::storage::directory::StoppingDisk;
use crate::storage::{
    AppendAt, CheckpointOffsets, Log, LogConfig, StartPoint, StorageError, small_file,
};
use crate::types::{LeaderEpoch, Offset, Timestamp};

const AT: AppendAt = AppendAt { epoch: LeaderEpoch(1), now: Timestamp::from_millis(NOW) };

/// A cleanly closed log of five closed segments.
struct Life {
    disk: FaultyDisk,
    clock: Arc<ManualClock>,
    config: LogConfig,
    history: History,
    marks: CheckpointOffsets,
}

impl Life {
    fn new() -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(NOW)));
        let config = settings(600);
        let log = open(Arc::new(disk.clone()), &clock, &config, StartPoint::New).unwrap();
        log.start_epoch(AT.epoch).unwrap();
        let mut history = History::default();
        for round in 0..5_i64 {
            for name in [b'a', b'b', b'c', b'a' + u8::try_from(round).unwrap()] {
                // Two keys end as tombstones.
                let is_deleted = round == 2 && name == b'b' || round == 4 && name == b'c';
                let value = (!is_deleted).then(|| vec![name; 40]);
                let offset = i64::try_from(history.records.len()).unwrap();
                let key = Some(vec![name]);
                if round < 3 || name != b'b' {
                    add(&log, &mut history, Kept { offset, key, value, time: NOW + round });
                }
            }
            log.tail().roll(AT.now).unwrap();
        }
        let marks = log.close().unwrap();
        history.touched_below = marks.durable.get();
        Self { disk, clock, config, history, marks }
    }

    /// Compacts twice, so that tombstones are removed too, on a disk that stops after some steps.
    fn compact(&self, disk: Arc<dyn Disk>) -> Result<Arc<Log>, StorageError> {
        let (log_start, log_end) = (self.marks.log_start, self.marks.durable);
        let start = StartPoint::Clean { log_start, log_end };
        let log = open(disk, &self.clock, &self.config, start)?;
        self.compact_again(&log)?;
        Ok(log)
    }

    fn compact_again(&self, log: &Arc<Log>) -> Result<(), StorageError> {
        for _ in 0..2 {
            // Reset the progress, so that the second pass covers everything.
            let context = log.context();
            small_file::remove(&*context.disk, &context.dir.join("compacted"))
                .map_err(|error| context.refused("forget the compaction of", error))?;
            compact_below(log, self.marks.durable, self.clock.now(), 1 << 20)?;
            self.clock.advance(self.config.delete_retention + Duration::from_millis(10));
        }
        Ok(())
    }

    fn check(&self, log: &Log) {
        self.history.check(log, self.clock.now().millis(), &self.config);
        assert_eq!(log.checks().damages(), []);
        assert_eq!(log.log_end_offset(), self.marks.durable);
    }
}

fn add(log: &Log, history: &mut History, record: Kept) {
    let codec = if record.offset % 2 == 0 { Compression::None } else { Compression::Zstd };
    let mut bytes = batch_of(std::slice::from_ref(&record), codec, None);
    let outcomes = log.append(&mut [&mut bytes], AT).unwrap();
    assert_eq!(outcomes[0].unwrap().base_offset, Offset::new(record.offset));
    history.records.push(record);
}

/// Stops the compaction after each number of steps in turn, until it completes.
fn at_every_step(power: bool) {
    for steps in 0.. {
        let life = Life::new();
        let stopping = StoppingDisk::new(&life.disk, steps);
        let done = life.compact(Arc::new(stopping.clone()));
        assert_eq!(done.is_err(), stopping.has_stopped(), "{done:?} after {steps} steps");
        let is_over = done.is_ok();
        drop(done);
        let disk = if power {
            life.disk.crash(u64::try_from(steps).unwrap()).unwrap()
        } else {
            life.disk.clone()
        };
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let CheckpointOffsets { log_start, durable, rebuild } = life.marks;
        let start = StartPoint::Unclean { log_start, durable, rebuild, same_boot: !power };
        let log = open(Arc::clone(&disk), &life.clock, &life.config, start).unwrap();
        life.check(&log);
        life.compact_again(&log).unwrap();
        life.check(&log);
        let kept: Vec<_> = contents(&log).into_iter().filter_map(|record| record.key).collect();
        assert_eq!(kept, [b"d", b"a", b"e"], "after {steps}");
        log.close().unwrap();
        check_files(&disk);
        if is_over {
            assert!(steps > 50, "only {steps} steps");
            return;
        }
    }
}

#[test]
fn a_compaction_that_is_killed_at_any_step_loses_nothing() {
    at_every_step(false);
}

#[test]
fn a_compaction_whose_power_fails_at_any_step_loses_nothing() {
    at_every_step(true);
}
