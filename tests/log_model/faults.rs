//! Faults: failing calls, crashes of the process or the machine, and recovery from them.

use crate::checks::contents;
use crate::plain::Stored;
use crate::world::World;
use streamlog::io::Clock as _;
use streamlog::io::faulty::{Failure, Fault, Operation};
use streamlog::storage::{CheckpointOffsets, StartPoint, StorageError};
use streamlog::types::Offset;

/// The cause of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    Power,
    Process,
}

impl World {
    /// Lets one write fail. A failed write leaves no trace, and a short write is continued.
    pub(crate) fn fail_one_write(&mut self) -> bool {
        let failure = match self.random.below(3) {
            0 => Failure::NoSpace,
            1 => Failure::InputOutput,
            _ => Failure::ShortWrite(self.random.index(100) + 1),
        };
        // The first append of an epoch also writes other files.
        self.log.epochs().prepare().unwrap();
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

    /// Lets one sync fail, which makes the log fail until the process restarts.
    pub(crate) fn fail_one_sync(&mut self) -> bool {
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

    /// Crashes the machine in the middle of an operation.
    pub(crate) fn die(&mut self) -> bool {
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
                if let Ok(marks) = self.log.checkpoints().advance() {
                    self.recorded = marks;
                }
            }
            3 => {
                if let Ok(marks) = self.log.close() {
                    assert_eq!(marks.durable.get(), self.model.end());
                }
            }
            4 => self.crash_while_truncating(),
            _ => {
                let below = self.log.flushed_offset();
                if let Ok(start) = self.log.retention().advance_log_start(below) {
                    self.model.log_start = start.get();
                    let _ = self.log.retention().delete_expired(self.clock.now(), below);
                }
            }
        }
        self.model.flushed = self.model.flushed.max(self.log.flushed_offset().get());
        self.crash(Crash::Power)
    }

    pub(crate) fn crash_while_truncating(&mut self) {
        let to = self.cut_point();
        let before = self.model.batches.clone();
        let kept = before.iter().filter(|batch| batch.next <= to);
        let end = kept.map(|batch| batch.next).max().unwrap_or(self.model.log_start);
        let uncut = self.log.log_end_offset();
        let _ = self.log.truncator().cut(Offset::new(to));
        if self.log.log_end_offset() == uncut {
            return;
        }
        let epochs = self.model.epochs.clone();
        self.model.cut(end);
        self.model.epochs = epochs;
        self.model.ghosts.extend(before.into_iter().filter(|batch| batch.next > end));
    }

    pub(crate) fn crash(&mut self, crash: Crash) -> bool {
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
        let damages = first.checks().damages();
        self.log = first;
        if self.random.chance(2) {
            self.recorded = self.log.checkpoints().offsets();
        }
        // I6 in `mod.rs`: recovering once more changes nothing.
        let second = self.open(self.unclean(crash)).unwrap();
        assert_eq!(second.checks().damages(), damages);
        assert_eq!(second.log_end_offset(), self.log.log_end_offset());
        assert_eq!(self::contents(&second), contents);
        self.log = second;
        self.recorded = self.log.checkpoints().offsets();
        self.take_over(crash, contents)
    }

    pub(crate) fn unclean(&self, crash: Crash) -> StartPoint {
        let CheckpointOffsets { log_start, durable, rebuild } = self.recorded;
        StartPoint::Unclean { log_start, durable, rebuild, same_boot: crash == Crash::Process }
    }

    /// Checks invariant I4 of `mod.rs`: recovered batches are as written, and nothing flushed is
    /// missing. The model continues with the recovered batches.
    pub(crate) fn take_over(&mut self, crash: Crash, recovered: Vec<Stored>) -> bool {
        let start = self.log.log_start_offset().get();
        assert!(start <= self.model.log_start, "the log starts at {start}");
        if !self.log.checks().damages().is_empty() {
            assert!(crash == Crash::Process && self.lied, "{:?}", self.log.checks().damages());
            let first = self.log.checks().damages()[0].first.get();
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
            assert!(ghost.is_some(), "the batch at {} was never appended", batch.base);
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
        self.start_epoch()
    }
}

fn epoch_of(batch: &Stored) -> i32 {
    i32::from_be_bytes(batch.bytes[12..16].try_into().unwrap())
}
