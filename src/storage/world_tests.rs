//! A disk, a clock and a log, for tests of the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::faulty::FaultyDisk;
use crate::io::{
    Clock, Disk, FileRange, ManualClock, MemoryDisk, OpenFiles, OpenMode, Share, read_exact_at,
    write_all_at,
};
use crate::record::{
    BatchBuilder, BatchSettings, Batches, Compressor, Decompressor, Limits, ProducerStamp,
};
use crate::storage::{
    AppendAt, Appended, CheckpointOffsets, ColdReads, Log, LogConfig, LogEnv, ProducerLimits,
    ReadLimit, StartPoint, StorageError,
};
use crate::types::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, TopicPartition,
};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
pub(super) const EPOCH: LeaderEpoch = LeaderEpoch(3);

/// A disk, a clock and the settings of one log.
pub(super) struct World {
    pub(super) disk: FaultyDisk,
    pub(super) clock: Arc<ManualClock>,
    pub(super) config: LogConfig,
}

impl World {
    pub(super) fn new() -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        disk.create_dir(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        Self { disk, clock: Arc::new(ManualClock::at(NOW)), config: LogConfig::default() }
    }

    pub(super) fn with_segments_of(bytes: u64) -> Self {
        let mut world = Self::new();
        world.config.segment_size = ByteSize(bytes);
        world
    }

    pub(super) fn try_open(&self, start: StartPoint) -> Result<Log, StorageError> {
        let env = LogEnv {
            disk: Arc::new(self.disk.clone()),
            files: OpenFiles::new(Arc::new(self.disk.clone()), Share::Fixed(2)),
            cold_reads: ColdReads::default(),
            reserve: None,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            producers: ProducerLimits::default(),
        };
        let partition =
            TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) };
        let config = Arc::new(self.config.clone());
        Log::open(&env, PathBuf::from("/data/t-0"), partition, config, start)
    }

    pub(super) fn open(&self, start: StartPoint) -> Log {
        self.try_open(start).unwrap()
    }

    /// A new log that accepts records in `EPOCH`.
    pub(super) fn start(&self) -> Log {
        let log = self.open(StartPoint::New);
        log.start_epoch(EPOCH).unwrap();
        log
    }

    /// Closes the log cleanly and opens it again, in the next epoch.
    pub(super) fn reopen(&self, log: &Log) -> Log {
        let marks = log.close().unwrap();
        assert_eq!(marks.durable, log.log_end_offset());
        let (log_start, log_end) = (marks.log_start, marks.durable);
        let log = self.open(StartPoint::Clean { log_start, log_end });
        log.start_epoch(LeaderEpoch(EPOCH.0 + 1)).unwrap();
        log
    }

    pub(super) fn names(&self, dir: &str) -> Vec<String> {
        let entries = self.disk.list(Path::new(dir)).unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    /// The base offsets of the segments on the disk.
    pub(super) fn segments(&self) -> Vec<i64> {
        let names = self.names("/data/t-0");
        names.iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect()
    }

    pub(super) fn bytes(&self, path: &Path) -> Vec<u8> {
        let file = self.disk.open(path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        read_exact_at(&*file, &mut bytes, 0).unwrap();
        bytes
    }

    /// Overwrites bytes of a file, or adds them at its end, durably.
    pub(super) fn overwrite(&self, path: &Path, position: Option<u64>, bytes: &[u8]) {
        let file = self.disk.open(path, OpenMode::Create).unwrap();
        let position = position.unwrap_or(file.len().unwrap());
        write_all_at(&*file, &mut [std::io::IoSlice::new(bytes)], position).unwrap();
        file.sync_data().unwrap();
        self.disk.sync_dir(path.parent().unwrap()).unwrap();
    }
}

/// The start point after a crash; nothing below the durable point is rebuilt.
pub(super) fn crashed(durable: i64, same_boot: bool) -> StartPoint {
    let durable = Offset::new(durable);
    StartPoint::Unclean { log_start: Offset::ZERO, durable, rebuild: durable, same_boot }
}

/// The start point after a crash; everything is read.
pub(super) fn crashed_rebuilding(marks: CheckpointOffsets, same_boot: bool) -> StartPoint {
    let CheckpointOffsets { log_start, durable, .. } = marks;
    StartPoint::Unclean { log_start, durable, rebuild: Offset::ZERO, same_boot }
}

pub(super) fn at() -> AppendAt {
    AppendAt { epoch: EPOCH, now: NOW }
}

/// A batch of records with these values and the timestamp `NOW`.
pub(super) fn batch(values: &[&str]) -> Vec<u8> {
    stamped(values, None)
}

pub(super) fn stamped(values: &[&str], producer: Option<ProducerStamp>) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.push(NOW, None, Some(value.as_bytes()), &[]).unwrap();
    }
    builder
        .build(&BatchSettings { producer, ..BatchSettings::default() }, &mut Compressor::none())
        .unwrap()
}

/// One of the log's files.
pub(super) fn file(base: i64, suffix: &str) -> PathBuf {
    PathBuf::from(format!("/data/t-0/{base:020}.{suffix}"))
}

/// The stamp of producer 7 in its first epoch.
pub(super) fn stamp(base_sequence: i32) -> ProducerStamp {
    ProducerStamp { id: ProducerId(7), epoch: ProducerEpoch(0), base_sequence }
}

pub(super) fn append(log: &Log, values: &[&str]) -> Appended {
    append_at(log, values, at()).unwrap()
}

pub(super) fn append_at(
    log: &Log,
    values: &[&str],
    at: AppendAt,
) -> Result<Appended, StorageError> {
    append_batch(log, batch(values), at)
}

pub(super) fn append_batch(
    log: &Log,
    mut batch: Vec<u8>,
    at: AppendAt,
) -> Result<Appended, StorageError> {
    let mut outcomes = log.append(&mut [&mut batch], at)?;
    Ok(outcomes.remove(0).unwrap())
}

/// Appends a batch with a single 60-byte record for each of these timestamps.
pub(super) fn append_timed(log: &Log, times: &[i64]) {
    for time in times {
        let mut builder = BatchBuilder::new();
        builder.push(Timestamp::from_millis(*time), None, Some(&[0; 60]), &[]).unwrap();
        let batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        append_batch(log, batch, at()).unwrap();
    }
}

pub(super) fn bytes_of(range: &FileRange) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
    read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
    bytes
}

/// All records between two offsets, by as many reads as necessary.
pub(super) fn values(log: &Log, from: i64, below: i64) -> Vec<(i64, String)> {
    try_values(log, from, below).unwrap()
}

pub(super) fn try_values(
    log: &Log,
    from: i64,
    below: i64,
) -> Result<Vec<(i64, String)>, StorageError> {
    let mut found = Vec::new();
    let mut next = Offset::new(from);
    let limit = ReadLimit {
        max_bytes: 1 << 20,
        below: Offset::new(below),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    while let Some(range) = log.read(next, limit)? {
        for batch in Batches::new(&bytes_of(&range)) {
            let batch = batch.unwrap();
            assert!(batch.checksum_matches());
            let limits = Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            for record in batch.records(&payload, &limits) {
                let record = record.unwrap();
                let value = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
                found.push((batch.offset_of(&record).get(), value));
            }
            next = batch.next_offset();
        }
    }
    Ok(found)
}

/// The values of records, without their offsets.
pub(super) fn texts(records: &[(i64, String)]) -> Vec<&str> {
    records.iter().map(|(_, value)| value.as_str()).collect()
}
