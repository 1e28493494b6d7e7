//! A log of records with keys, for the tests of compaction, and its invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ByteSize;
use crate::io::{Clock, Disk, ManualClock, OpenFiles, Share, read_exact_at};
use crate::record::{
    BatchBuilder, BatchSettings, Batches, Compression, Compressor, Decompressor, Header, Limits,
    ProducerStamp,
};
use crate::storage::compaction::{Bounds, Candidate, Effort, Pass, compact};
use crate::storage::{
    CleanupPolicy, ColdReads, Log, LogConfig, LogEnv, ProducerLimits, ReadLimit, StartPoint,
    StorageError, verify,
};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicPartition};

pub(super) const NOW: i64 = 1_700_000_000_000;
pub(super) const DIR: &str = "/data/t-0";

/// A record as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) offset: i64,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) time: i64,
}

/// All records that were ever appended, with the limit up to which compaction may remove some.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) records: Vec<Kept>,
    /// The offset from which on nothing was ever compacted.
    pub(super) touched_below: i64,
}

pub(super) fn settings(segment_size: u64) -> LogConfig {
    LogConfig {
        cleanup_policy: CleanupPolicy { delete: false, compact: true },
        segment_size: ByteSize(segment_size),
        index_interval: ByteSize(100),
        delete_retention: std::time::Duration::from_millis(100),
        ..LogConfig::default()
    }
}

pub(super) fn partition() -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) }
}

pub(super) fn open(
    disk: Arc<dyn Disk>,
    clock: &Arc<ManualClock>,
    config: &LogConfig,
    start: StartPoint,
) -> Result<Arc<Log>, StorageError> {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let files = OpenFiles::new(Arc::clone(&disk), Share::Fixed(2));
    let producers = ProducerLimits::default();
    let env =
        LogEnv { disk, files, cold_reads: ColdReads::default(), reserve: None, clock, producers };
    let config = Arc::new(config.clone());
    Log::open(&env, PathBuf::from(DIR), partition(), config, start).map(Arc::new)
}

/// A batch of these records, without offsets yet.
pub(super) fn batch_of(
    records: &[Kept],
    codec: Compression,
    producer: Option<ProducerStamp>,
) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for record in records {
        let header = Header { key: b"h", value: record.key.as_deref() };
        let time = Timestamp::from_millis(record.time);
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        builder.push(time, key, value, &[header]).unwrap();
    }
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    builder.build(&settings, &mut Compressor::new(codec, None).unwrap()).unwrap()
}

/// Compacts the log below an offset.
pub(super) fn compact_below(
    log: &Arc<Log>,
    below: Offset,
    now: Timestamp,
    map_size: u64,
) -> Result<Pass, StorageError> {
    let candidate = Candidate::of(log, Bounds { below, now })?;
    let map_size = ByteSize(map_size);
    compact(&candidate, &Effort { map_size, now, directory: None, keep_going: &|_| true })
}

/// All records that can be read, by as many reads as necessary.
pub(super) fn contents(log: &Log) -> Vec<Kept> {
    read_from(log, log.log_start_offset(), |_| false)
}

/// The first record returned to a reader that begins at an offset.
pub(super) fn first_from(log: &Log, from: i64) -> Option<Kept> {
    let is_it = |record: &Kept| record.offset >= from;
    read_from(log, Offset::new(from), is_it).into_iter().find(is_it)
}

/// Reads until the end, or until `is_enough`.
fn read_from(log: &Log, mut from: Offset, is_enough: impl Fn(&Kept) -> bool) -> Vec<Kept> {
    let mut found = Vec::new();
    let below = log.log_end_offset();
    let limit = ReadLimit { max_bytes: 700, below, at_least_one_batch: true, keeps_emptied: false };
    while let Some(range) = log.read(from, limit).unwrap() {
        if found.last().is_some_and(&is_enough) {
            break;
        }
        let mut bytes = vec![0; usize::try_from(range.length).unwrap()];
        read_exact_at(&*range.file, &mut bytes, range.position).unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            batch.check_checksum().unwrap();
            assert!(batch.next_offset() > from, "batch {} again", batch.base_offset());
            let limits = Limits::default();
            let payload = batch.decompressed(&mut Decompressor::new(limits)).unwrap();
            let mut latest = None;
            for record in batch.records(&payload, &limits) {
                let record = record.unwrap();
                let headers: Vec<_> = record.headers.clone().collect();
                assert_eq!(headers, [Header { key: b"h", value: record.key }]);
                let time = batch.timestamp_of(&record).millis();
                latest = latest.max(Some(time));
                found.push(Kept {
                    offset: batch.offset_of(&record).get(),
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    time,
                });
            }
            assert!(latest.is_none_or(|time| time == batch.max_timestamp().millis()));
            from = batch.next_offset();
        }
    }
    found
}

impl History {
    /// Checks the invariants that hold for every log, whatever was compacted and whenever it
    /// crashed.
    pub(super) fn check(&self, log: &Log, now: i64, config: &LogConfig) {
        let found = contents(log);
        assert!(found.is_sorted_by(|one, next| one.offset < next.offset));
        let written: BTreeMap<i64, &Kept> = self.records.iter().map(|r| (r.offset, r)).collect();
        for record in &found {
            assert_eq!(Some(&record), written.get(&record.offset), "it has changed");
        }
        let offsets: BTreeSet<i64> = found.iter().map(|record| record.offset).collect();
        let mut last = BTreeMap::new();
        for record in &self.records {
            let is_open = record.offset >= self.touched_below || record.key.is_none();
            assert!(!is_open || offsets.contains(&record.offset), "{record:?} is lost");
            if let Some(key) = &record.key {
                last.insert(key, record);
            }
        }
        let retention = i64::try_from(config.delete_retention.as_millis()).unwrap();
        for (key, record) in last {
            if offsets.contains(&record.offset) {
                continue;
            }
            assert!(record.value.is_none(), "the last value of {key:?} is lost: {record:?}");
            assert!(now >= record.time + retention, "{record:?} has gone too early");
            let older = found.iter().find(|found| found.key.as_ref() == Some(key));
            assert_eq!(older, None, "a deleted key is back");
        }
    }

    /// Checks that every key occurs at most once below an offset.
    pub(super) fn check_clean(log: &Log, below: i64) {
        let mut keys = BTreeSet::new();
        for record in contents(log).into_iter().filter(|record| record.offset < below) {
            let Some(key) = record.key else { continue };
            assert!(keys.insert(key), "the key of offset {} stands twice", record.offset);
        }
    }

    /// Checks that lookups by timestamp agree with a scan of the records.
    pub(super) fn check_times(log: &Log, times: impl IntoIterator<Item = i64>) {
        let found = contents(log);
        for wanted in times {
            let expected = found.iter().find(|record| record.time >= wanted);
            let looked_up =
                log.lookups().offset_for_timestamp(Timestamp::from_millis(wanted)).unwrap();
            let looked_up = looked_up.map(|record| record.offset.get());
            assert_eq!(looked_up, expected.map(|record| record.offset), "at {wanted}");
        }
        let largest = found.iter().map(|record| record.time).max();
        let looked_up =
            log.lookups().max_timestamp().unwrap().map(|record| record.timestamp.millis());
        assert_eq!(looked_up, largest);
    }
}

/// Checks that `log verify` finds the files of a closed log sound.
pub(super) fn check_files(disk: &Arc<dyn Disk>) {
    let reports = verify(disk, Path::new(DIR)).unwrap();
    for report in reports {
        // There is no metadata, because this log is not in a data directory.
        let flaws =
            report.findings.iter().filter(|finding| !finding.path.ends_with("partition.metadata"));
        assert_eq!(flaws.map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    }
}
