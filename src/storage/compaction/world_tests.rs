//! A log to compact, for the tests of single passes.

use std::path::Path;
use std::sync::Arc;

use super::kept_tests::{DIR, Kept, NOW, batch_of, compact_below, contents, open, settings};
use crate::io::faulty::FaultyDisk;
use crate::io::{Disk, ManualClock, MemoryDisk};
use crate::record::{Compression, ProducerStamp};
use crate::storage::compaction::{Bounds, Candidate, Pass};
use crate::storage::{AppendAt, Log, LogConfig, StartPoint};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

pub(super) const AT: AppendAt =
    AppendAt { epoch: LeaderEpoch(1), now: Timestamp::from_millis(NOW) };
pub(super) const MUCH: u64 = 1 << 20;

/// A log to compact, on a disk that fails on demand.
pub(super) struct World {
    pub(super) disk: FaultyDisk,
    pub(super) clock: Arc<ManualClock>,
    pub(super) config: LogConfig,
    pub(super) log: Arc<Log>,
    pub(super) end: i64,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(settings(10_000))
    }

    pub(super) fn with(config: LogConfig) -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let clock = Arc::new(ManualClock::at(AT.now));
        let log = open(Arc::new(disk.clone()), &clock, &config, StartPoint::New).unwrap();
        log.start_epoch(AT.epoch).unwrap();
        Self { disk, clock, config, log, end: 0 }
    }

    /// One batch of records `key=value`, or `key` alone for a tombstone.
    pub(super) fn append(&mut self, records: &[&str]) {
        self.append_as(records, None, Compression::None);
    }

    pub(super) fn append_as(
        &mut self,
        records: &[&str],
        stamp: Option<ProducerStamp>,
        codec: Compression,
    ) {
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
    pub(super) fn roll(&self) {
        self.log.tail().roll(AT.now).unwrap();
        self.log.flush().unwrap();
        self.log.checkpoints().advance().unwrap();
    }

    pub(super) fn compact(&self) -> Pass {
        let now = crate::io::Clock::now(&*self.clock);
        compact_below(&self.log, Offset::new(self.end), now, MUCH).unwrap()
    }

    pub(super) fn candidate(&self) -> Candidate {
        let now = crate::io::Clock::now(&*self.clock);
        Candidate::of(&self.log, Bounds { below: Offset::new(self.end), now }).unwrap()
    }

    /// The remaining records, as `offset:key=value`.
    pub(super) fn left(&self) -> Vec<String> {
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap())
        };
        let show = |record: Kept| {
            let value = text(&record.value).map_or(String::new(), |value| format!("={value}"));
            format!("{}:{}{value}", record.offset, text(&record.key).unwrap_or_default())
        };
        contents(&self.log).into_iter().map(show).collect()
    }

    pub(super) fn names(&self, suffix: &str) -> Vec<String> {
        let names = self.disk.list(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name);
        names.filter(|name| name.ends_with(suffix)).collect()
    }

    pub(super) fn reopen(&mut self) {
        let marks = self.log.close().unwrap();
        let start = StartPoint::Clean { log_start: marks.log_start, log_end: marks.durable };
        self.log = open(Arc::new(self.disk.clone()), &self.clock, &self.config, start).unwrap();
        self.log.start_epoch(AT.epoch).unwrap();
    }
}

/// The stamp of the test's producer.
pub(super) fn stamp(base_sequence: i32) -> ProducerStamp {
    ProducerStamp { id: ProducerId(7), epoch: ProducerEpoch(0), base_sequence }
}
