//! Tests of retention over a whole directory, and of the maintenance thread.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Clock, Disk, ManualClock, MemoryDisk, Share, SystemClock, World};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::storage::upkeep::passes::{limit_total_size, retain};
use crate::storage::{
    AppendAt, CleanupPolicy, CompactionOptions, DataDir, DataDirOptions, HighWatermarks, Log,
    LogConfig, OffsetUnit, Opener, PartitionMetadata, ProducerLimits, ReadLimit, Upkeep,
    UpkeepListener, UpkeepOptions, small_file,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition,
};

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const TOPIC_ID: TopicId = TopicId([1; 16]);
const EPOCH: LeaderEpoch = LeaderEpoch(1);
const DAY: Duration = Duration::from_hours(24);
const PATIENCE: Duration = Duration::from_secs(20);

fn directory(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> DataDir {
    let options = DataDirOptions {
        opener: Opener { cluster_id: None, broker_id: BrokerId(0) },
        boot_id: "boot".to_owned(),
        configs: Arc::new(|partition, _| {
            let compacted = CleanupPolicy { delete: false, compact: true };
            let keeps = partition.topic.as_str() == "compacted";
            let default = LogConfig::default();
            Arc::new(LogConfig {
                cleanup_policy: if keeps { compacted } else { default.cleanup_policy },
                segment_size: ByteSize(1_000),
                retention: Some(DAY),
                ..default
            })
        }),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::ZERO,
        open_files: Share::OfProcess,
    };
    DataDir::open(World { disk, clock }, Path::new("/data"), options).unwrap()
}

fn partition(topic: &str) -> TopicPartition {
    TopicPartition { topic: topic.parse().unwrap(), partition: PartitionIndex(0) }
}

/// A log of batches of about 500 bytes, all flushed.
fn fill(directory: &DataDir, topic: &str, batches: usize) -> Arc<Log> {
    let metadata = PartitionMetadata { topic_id: TOPIC_ID, offset_unit: OffsetUnit::Record };
    let log = directory.create_log(&partition(topic), metadata).unwrap();
    log.start_epoch(EPOCH).unwrap();
    for _ in 0..batches {
        let mut builder = BatchBuilder::new();
        builder.push(NOW, Some(b"k"), Some(&[7; 420]), &[]).unwrap();
        let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        log.append(&mut [&mut batch], AppendAt { epoch: EPOCH, now: NOW }).unwrap();
    }
    log.flush().unwrap();
    log
}

fn in_memory() -> (DataDir, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(NOW));
    let directory = directory(Arc::new(MemoryDisk::default()), Arc::clone(&clock) as _);
    (directory, clock)
}

fn watermarks(logs: &[&Log]) -> HighWatermarks {
    let of = |log: &&Log| ((log.partition().clone(), TOPIC_ID), log.log_end_offset());
    logs.iter().map(of).collect()
}

#[test]
fn expired_segments_of_every_log_are_removed() {
    let (directory, clock) = in_memory();
    let (web, sale) = (fill(&directory, "web", 10), fill(&directory, "sale", 4));
    let marks = watermarks(&[&web, &sale]);
    assert_eq!(retain(&directory, &marks, Some(clock.now())).unwrap().segments, 0);
    let later = NOW.plus(2 * DAY);
    let removed = retain(&directory, &marks, Some(later)).unwrap();
    assert_eq!(removed.segments, 7);
    assert_eq!(web.log_start_offset(), Offset::new(10));
}

#[test]
fn nothing_is_removed_for_its_age_while_the_clock_is_untrusted() {
    let (directory, _) = in_memory();
    let web = fill(&directory, "web", 10);
    assert_eq!(retain(&directory, &watermarks(&[&web]), None).unwrap().segments, 0);
}

#[test]
fn nothing_above_the_high_watermark_is_removed() {
    let (directory, _) = in_memory();
    fill(&directory, "web", 10);
    let later = Some(NOW.plus(2 * DAY));
    let unknown = HighWatermarks::new();
    assert_eq!(retain(&directory, &unknown, later).unwrap().segments, 0, "no high watermark");
    let low = HighWatermarks::from([((partition("web"), TOPIC_ID), Offset::new(5))]);
    assert_eq!(retain(&directory, &low, later).unwrap().segments, 2);
    let half = limit_total_size(&directory, &low, ByteSize(0)).unwrap();
    assert_eq!(half.segments, 0);
}

#[test]
fn a_recorded_high_watermark_is_used_without_a_current_one() {
    let (directory, _) = in_memory();
    let web = fill(&directory, "web", 10);
    directory.checkpoint(&watermarks(&[&web])).unwrap();
    let removed = retain(&directory, &HighWatermarks::new(), Some(NOW.plus(2 * DAY))).unwrap();
    assert_eq!(removed.segments, 5);
}

#[test]
fn too_large_a_directory_loses_the_oldest_of_its_largest_logs() {
    let (directory, _) = in_memory();
    let (large, small) = (fill(&directory, "large", 12), fill(&directory, "small", 6));
    let marks = watermarks(&[&large, &small]);
    let total = large.size_bytes().unwrap() + small.size_bytes().unwrap();
    let segment = large.size_bytes().unwrap() / 6;

    assert_eq!(limit_total_size(&directory, &marks, ByteSize(total)).unwrap().segments, 0);
    let removed = limit_total_size(&directory, &marks, ByteSize(total - segment - 1)).unwrap();
    assert_eq!((removed.segments, large.log_start_offset()), (2, Offset::new(4)));
    assert_eq!(small.log_start_offset(), Offset::ZERO);
    let removed = limit_total_size(&directory, &marks, ByteSize(0)).unwrap();
    assert_eq!(removed.segments, 3 + 2, "all but the active ones");
    assert_eq!(small.log_start_offset(), Offset::new(4));
}

#[test]
fn a_size_limit_spares_internal_and_compacted_topics() {
    let (directory, _) = in_memory();
    let logs = ["__consumer_offsets", "compacted"].map(|topic| fill(&directory, topic, 10));
    let marks = watermarks(&[&logs[0], &logs[1]]);
    assert_eq!(limit_total_size(&directory, &marks, ByteSize(0)).unwrap().segments, 0);
}

/// Maintenance of a directory on a disk with faults, and the failures that it reports.
fn upkeep(disk: &FaultyDisk) -> (Arc<DataDir>, Upkeep, std::sync::mpsc::Receiver<String>) {
    asking(disk, || HighWatermarks::from([((partition("web"), TOPIC_ID), Offset::new(3))]))
}

/// As `upkeep`, with these high watermarks.
fn asking(
    disk: &FaultyDisk,
    high_watermarks: impl Fn() -> HighWatermarks + Send + Sync + 'static,
) -> (Arc<DataDir>, Upkeep, std::sync::mpsc::Receiver<String>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let directory = Arc::new(directory(Arc::new(disk.clone()), Arc::clone(&clock)));
    let (sender, fatal) = sync_channel(10);
    let listener = UpkeepListener {
        high_watermarks: Box::new(high_watermarks),
        on_fatal: Box::new(move |error| sender.send(error.to_string()).unwrap()),
    };
    let options = UpkeepOptions {
        checkpoint_delay: Duration::from_millis(1),
        compaction: CompactionOptions {
            interval: Duration::from_millis(1),
            ..CompactionOptions::default()
        },
        ..UpkeepOptions::default()
    };
    let upkeep = Upkeep::start(Arc::clone(&directory), clock, options, listener).unwrap();
    (directory, upkeep, fatal)
}

/// Polls until `holds` returns true.
fn eventually(holds: impl Fn() -> bool) {
    let clock = SystemClock;
    let deadline = clock.monotonic() + PATIENCE;
    while !holds() {
        assert!(clock.monotonic() < deadline, "the condition has not become true");
        std::thread::yield_now();
    }
}

#[test]
fn offsets_are_recorded_after_a_flush() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, _fatal) = upkeep(&disk);
    fill(&directory, "web", 3);
    upkeep.flushed(1);
    let checkpoint = Path::new("/data/high-watermark-checkpoint");
    eventually(|| disk.exists(checkpoint).unwrap());
    upkeep.stop();
    assert_eq!(directory.high_watermark(&partition("web")), Some(Offset::new(3)));
}

#[test]
fn the_files_of_a_removed_log_are_removed() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, _fatal) = upkeep(&disk);
    fill(&directory, "web", 3);
    directory.remove_log(&partition("web"), TOPIC_ID).unwrap();
    upkeep.log_removed();
    let is_gone = || {
        let entries = disk.list(Path::new("/data")).unwrap();
        !entries.iter().any(|entry| entry.name.ends_with(".deleted"))
    };
    eventually(is_gone);
}

#[test]
fn a_checkpoint_that_fails_is_fatal_and_one_without_space_is_not() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, fatal) = upkeep(&disk);
    fill(&directory, "web", 3);
    let point = "durable-point-checkpoint.tmp";
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(point));
    upkeep.flushed(1);
    let checkpoint = Path::new("/data/durable-point-checkpoint");
    eventually(|| disk.exists(checkpoint).unwrap());
    assert!(fatal.try_recv().is_err());

    fill(&directory, "web", 1);
    disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(point));
    upkeep.flushed(1);
    let said = fatal.recv_timeout(PATIENCE).unwrap();
    assert!(said.contains("checkpoint"), "{said}");
}

#[test]
fn a_sync_that_fails_for_want_of_space_is_fatal() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, fatal) = upkeep(&disk);
    fill(&directory, "web", 3);
    let point = "durable-point-checkpoint.tmp";
    disk.inject(Fault::new(Operation::SyncData, Failure::NoSpace).on(point));
    upkeep.flushed(1);
    let said = fatal.recv_timeout(PATIENCE).unwrap();
    assert!(said.contains("no space left"), "{said}");
}

#[test]
fn a_checkpoint_without_a_descriptor_is_retried() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, fatal) = upkeep(&disk);
    fill(&directory, "web", 3);
    let point = "durable-point-checkpoint.tmp";
    disk.inject(Fault::new(Operation::Open, Failure::TooManyOpenFiles).on(point));
    disk.inject(Fault::new(Operation::SyncDir, Failure::TooManyOpenFiles).on("/data").times(2));
    upkeep.flushed(1);
    let marks = watermarks(&[&directory.log(&partition("web")).unwrap().unwrap()]);
    eventually(|| directory.recorded_durable_point(&partition("web")) == Some(Offset::new(3)));
    assert!(fatal.try_recv().is_err());
    upkeep.stop();
    directory.checkpoint(&marks).unwrap();
}

#[test]
fn only_maintenance_that_is_stopped_in_order_writes_at_its_end() {
    for is_abandoned in [false, true] {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        let (_directory, upkeep, _fatal) = upkeep(&disk);
        let before = disk.calls(Operation::Write);
        if is_abandoned {
            upkeep.abandon();
        } else {
            upkeep.stop();
        }
        assert_eq!(disk.calls(Operation::Write) == before, is_abandoned);
    }
}

/// A disk with these logs of ten batches each, cleanly closed.
fn closed(topics: [&str; 2]) -> (FaultyDisk, HighWatermarks) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let directory = directory(Arc::new(disk.clone()), Arc::new(ManualClock::at(NOW)));
    let logs = topics.map(|topic| fill(&directory, topic, 10));
    let marks = watermarks(&[&logs[0], &logs[1]]);
    directory.close(&marks).unwrap();
    (disk, marks)
}

#[test]
fn a_log_with_an_unreadable_file_is_the_only_one_without_retention() {
    let (disk, marks) = closed(["bad", "web"]);
    let directory = directory(Arc::new(disk.clone()), Arc::new(ManualClock::at(NOW)));
    for suffix in ["bad-0/00000000000000000000.seal", "bad-0/00000000000000000000.log"] {
        disk.inject(Fault::new(Operation::Read, Failure::InputOutput).on(suffix).for_ever());
    }
    let removed = retain(&directory, &marks, Some(NOW.plus(2 * DAY))).unwrap();
    assert_eq!(removed.segments, 5);
    assert_eq!(directory.log(&partition("web")).unwrap().unwrap().log_start_offset().get(), 10);
    disk.clear_faults();
    assert_eq!(retain(&directory, &marks, Some(NOW.plus(2 * DAY))).unwrap().segments, 5);
}

#[test]
fn a_log_that_does_not_open_is_the_only_one_without_retention() {
    let (disk, marks) = closed(["bad", "web"]);
    small_file::replace(&disk, Path::new("/data/bad-0/damaged"), b"garbage").unwrap();
    let directory = directory(Arc::new(disk.clone()), Arc::new(ManualClock::at(NOW)));
    assert!(directory.log(&partition("bad")).is_err());
    let now = Some(NOW.plus(2 * DAY));
    assert_eq!(retain(&directory, &marks, now).unwrap().segments, 5);
    assert_eq!(limit_total_size(&directory, &marks, ByteSize(0)).unwrap().segments, 0);
}

/// A log of five expired segments, another log, and the watermarks of both.
fn expired(fault: Fault) -> (FaultyDisk, DataDir, HighWatermarks) {
    let (disk, marks) = closed(["bad", "web"]);
    let directory = directory(Arc::new(disk.clone()), Arc::new(ManualClock::at(NOW)));
    let bad = directory.log(&partition("bad")).unwrap().unwrap();
    bad.tail().roll(NOW).unwrap();
    bad.flush().unwrap();
    disk.inject(fault);
    (disk, directory, marks)
}

/// Checks that only the last segment of the log `bad` is left.
fn all_expired_is_gone(disk: &FaultyDisk, directory: &DataDir) {
    let bad = directory.log(&partition("bad")).unwrap().unwrap();
    assert_eq!(bad.log_start_offset(), Offset::new(10));
    bad.retention().remove_deleted(Duration::MAX).unwrap();
    let names = disk.list(Path::new("/data/bad-0")).unwrap().into_iter().map(|e| e.name);
    let is_left =
        |name: &String| [".log", ".index", ".deleted"].iter().any(|end| name.ends_with(end));
    assert_eq!(names.filter(is_left).collect::<Vec<_>>(), ["00000000000000000010.log"]);
}

#[test]
fn a_segment_that_cannot_be_deleted_stays_readable_and_is_removed_first_later() {
    let rename = Fault::new(Operation::Rename, Failure::InputOutput);
    let (disk, directory, marks) = expired(rename.on(".log.deleted"));
    let now = Some(NOW.plus(2 * DAY));
    assert_eq!(retain(&directory, &marks, now).unwrap().segments, 5, "the other log's");
    let bad = directory.log(&partition("bad")).unwrap().unwrap();
    assert_eq!(bad.log_start_offset(), Offset::ZERO, "its start is unchanged");
    let limit = ReadLimit {
        max_bytes: 1,
        below: Offset::new(10),
        at_least_one_batch: true,
        keeps_emptied: false,
    };
    assert!(bad.read(Offset::ZERO, limit).unwrap().is_some());
    assert_eq!(retain(&directory, &marks, now).unwrap().segments, 5);
    all_expired_is_gone(&disk, &directory);
}

#[test]
fn a_partly_deleted_segment_is_removed() {
    let (disk, directory, marks) =
        expired(Fault::new(Operation::Rename, Failure::InputOutput).on(".index.deleted"));
    assert_eq!(retain(&directory, &marks, Some(NOW.plus(2 * DAY))).unwrap().segments, 10);
    all_expired_is_gone(&disk, &directory);
}

#[test]
fn a_deletion_that_could_not_be_made_durable_is_completed_later() {
    let (disk, directory, marks) =
        expired(Fault::new(Operation::SyncDir, Failure::TooManyOpenFiles).on("bad-0").for_ever());
    let now = Some(NOW.plus(2 * DAY));
    assert_eq!(retain(&directory, &marks, now).unwrap().segments, 5, "the other log's");
    let bad = directory.log(&partition("bad")).unwrap().unwrap();
    assert_eq!(
        bad.log_start_offset(),
        Offset::new(2),
        "its first segment was renamed before the failure"
    );
    disk.clear_faults();
    assert_eq!(retain(&directory, &marks, now).unwrap().segments, 4);
    all_expired_is_gone(&disk, &directory);
}

#[test]
fn a_log_whose_files_cannot_be_written_delays_only_its_own_checkpoint() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let directory = directory(Arc::new(disk.clone()), Arc::new(ManualClock::at(NOW)));
    let logs = ["bad", "web"].map(|topic| fill(&directory, topic, 10));
    let seal = Fault::new(Operation::Open, Failure::TooManyOpenFiles);
    disk.inject(seal.on("bad-0/00000000000000000000.seal.tmp").for_ever());
    let marks = watermarks(&[&logs[0], &logs[1]]);
    directory.checkpoint(&marks).unwrap_err();
    for topic in ["bad", "web"] {
        assert_eq!(directory.recorded_durable_point(&partition(topic)), Some(Offset::new(10)));
    }
    assert_eq!(logs[1].checkpoints().offsets().rebuild, Offset::new(10));
    assert_eq!(logs[0].checkpoints().offsets().rebuild, Offset::ZERO);
    disk.clear_faults();
    directory.checkpoint(&marks).unwrap();
    assert_eq!(logs[0].checkpoints().offsets().rebuild, Offset::new(10));
}

/// Maintenance of a directory with a log, whose high watermarks panic on the named thread.
fn with_panic_on(name: &'static str) -> (Upkeep, std::sync::mpsc::Receiver<String>) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let (directory, upkeep, fatal) = asking(&disk, move || {
        assert_ne!(std::thread::current().name(), Some(name), "broken by the test");
        HighWatermarks::new()
    });
    fill(&directory, "web", 1);
    upkeep.flushed(1);
    (upkeep, fatal)
}

#[test]
fn a_panic_of_the_maintenance_thread_is_fatal() {
    let (upkeep, fatal) = with_panic_on("upkeep");
    let said = fatal.recv_timeout(PATIENCE).unwrap();
    assert!(said.contains("'upkeep' has panicked"), "{said}");
    upkeep.stop();
}

#[test]
fn a_panic_of_the_compaction_thread_is_fatal() {
    let (upkeep, fatal) = with_panic_on("compaction");
    let said = fatal.recv_timeout(PATIENCE).unwrap();
    assert!(said.contains("'compaction' has panicked"), "{said}");
    upkeep.stop();
}
