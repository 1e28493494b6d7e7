//! Tests of the flusher's threads, on a disk with holds and faults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{self, Clock, Disk, ManualClock, MemoryDisk, OpenFiles, Share, SystemClock};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::storage::flusher::flush_queue::SYNC_TOGETHER_FROM;
use crate::storage::{
    AppendAt, ColdReads, FlushListener, Flusher, FlusherOptions, Log, LogConfig, LogEnv,
    ProducerLimits, StartPoint, StorageError,
};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicPartition};

const EPOCH: LeaderEpoch = LeaderEpoch(1);
const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// Longer than any flush takes, yet short enough to wait for in a failing test.
const PATIENCE: Duration = Duration::from_secs(20);
/// A time long enough to see a thread act that should stay idle.
const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug, PartialEq, Eq)]
enum Report {
    Flushed(PartitionIndex, Offset),
    Fatal(String),
}

struct World {
    disk: FaultyDisk,
    env: LogEnv,
    flusher: Flusher,
    reports: Receiver<Report>,
}

impl World {
    fn new(options: FlusherOptions) -> Self {
        Self::with(options, listener)
    }

    fn with(
        options: FlusherOptions,
        listener: impl Fn(SyncSender<Report>) -> FlushListener,
    ) -> Self {
        Self::with_clock(options, listener, Arc::new(SystemClock))
    }

    /// A flusher with one thread. Its clock stands still: on a busy machine, a flush that a test
    /// holds would count as stuck, and a second thread would start.
    fn with_one_thread() -> Self {
        let options = FlusherOptions { threads: 1, ..FlusherOptions::default() };
        Self::with_clock(options, listener, Arc::new(ManualClock::at(NOW)))
    }

    fn with_clock(
        options: FlusherOptions,
        listener: impl Fn(SyncSender<Report>) -> FlushListener,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
        disk.create_dir(Path::new("/data")).unwrap();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let (sender, reports) = sync_channel(10_000);
        let world = io::World { disk: Arc::clone(&shared), clock: Arc::clone(&clock) };
        let flusher = Flusher::start(world, Path::new("/data"), options, listener(sender)).unwrap();
        let files = OpenFiles::new(Arc::clone(&shared), Share::Fixed(100));
        let producers = ProducerLimits::default();
        let env = LogEnv {
            disk: shared,
            files,
            cold_reads: ColdReads::default(),
            reserve: None,
            clock,
            producers,
        };
        Self { disk, env, flusher, reports }
    }

    /// A new log, ready for records.
    fn log(&self, index: i32, config: LogConfig) -> Arc<Log> {
        let topic = "web".parse().unwrap();
        let partition = TopicPartition { topic, partition: PartitionIndex(index) };
        let dir = PathBuf::from(format!("/data/{partition}"));
        let log = Log::open(&self.env, dir, partition, Arc::new(config), StartPoint::New).unwrap();
        log.start_epoch(EPOCH).unwrap();
        log.epochs().prepare().unwrap();
        Arc::new(log)
    }

    /// Waits for `count` reports, in any order.
    fn reports(&self, count: usize) -> Vec<Report> {
        (0..count).map(|_| self.reports.recv_timeout(PATIENCE).unwrap()).collect()
    }
}

fn listener(sender: SyncSender<Report>) -> FlushListener {
    let on_flushed = sender.clone();
    FlushListener {
        on_flushed: Box::new(move |flushed| {
            let partition = flushed.log.partition().partition;
            on_flushed.send(Report::Flushed(partition, flushed.offset)).unwrap();
        }),
        on_fatal: Box::new(move |error| sender.send(Report::Fatal(error.to_string())).unwrap()),
    }
}

/// Settings by which nothing is flushed unless a response waits for it.
fn lazy() -> LogConfig {
    let flush_interval = Duration::from_hours(1);
    LogConfig { flush_messages: u64::MAX, flush_interval, ..LogConfig::default() }
}

fn append(log: &Log, value: &[u8]) {
    let mut builder = BatchBuilder::new();
    builder.push(NOW, None, Some(value), &[]).unwrap();
    let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    log.append(&mut [&mut batch], AppendAt { epoch: EPOCH, now: NOW }).unwrap();
}

fn flushed(index: i32, offset: i64) -> Report {
    Report::Flushed(PartitionIndex(index), Offset::new(offset))
}

#[test]
fn awaited_records_are_flushed_at_once_and_others_are_not() {
    let world = World::new(FlusherOptions::default());
    let log = world.log(0, lazy());
    append(&log, b"a");
    world.flusher.schedule(&log, false);
    assert!(world.reports.recv_timeout(GLANCE).is_err());
    world.flusher.schedule(&log, true);
    assert_eq!(world.reports(1), [flushed(0, 1)]);
    assert_eq!(world.flusher.unflushed_bytes(), 0);
}

#[test]
fn records_nobody_awaits_are_flushed_when_they_are_old_enough() {
    let world = World::new(FlusherOptions::default());
    let config = LogConfig { flush_interval: Duration::from_millis(5), ..lazy() };
    let log = world.log(0, config);
    append(&log, b"a");
    world.flusher.schedule(&log, false);
    assert_eq!(world.reports(1), [flushed(0, 1)]);
}

#[test]
fn without_on_demand_even_awaited_records_follow_the_policy() {
    let world = World::new(FlusherOptions::default());
    let config = LogConfig { flush_on_demand: false, flush_messages: 3, ..lazy() };
    let log = world.log(0, config);
    for _ in 0..2 {
        append(&log, b"a");
        world.flusher.schedule(&log, true);
    }
    assert!(world.reports.recv_timeout(GLANCE).is_err());
    append(&log, b"a");
    world.flusher.schedule(&log, true);
    assert_eq!(world.reports(1), [flushed(0, 3)]);
}

#[test]
fn all_who_wait_share_the_next_flush() {
    let world = World::new(FlusherOptions::default());
    let log = world.log(0, lazy());
    let hold = world.disk.hold_sync();
    append(&log, b"a");
    world.flusher.schedule(&log, true);
    assert!(hold.wait_for(1, PATIENCE));
    for _ in 0..100 {
        append(&log, b"b");
        world.flusher.schedule(&log, true);
    }
    let before = world.disk.calls(Operation::SyncData);
    drop(hold);
    assert_eq!(world.reports(2), [flushed(0, 1), flushed(0, 101)]);
    assert_eq!(world.disk.calls(Operation::SyncData) - before, 1);
}

#[test]
fn many_logs_are_flushed_by_syncs_of_the_file_system() {
    let world = World::with_one_thread();
    let logs: Vec<_> = (0..100).map(|index| world.log(index, lazy())).collect();
    for round in 1..=3 {
        // The only thread is kept busy until all logs are due.
        let hold = world.disk.hold_sync();
        append(&logs[0], b"a");
        world.flusher.schedule(&logs[0], true);
        assert!(hold.wait_for(1, PATIENCE));
        for log in &logs {
            append(log, b"b");
            world.flusher.schedule(log, true);
        }
        let before = world.disk.calls(Operation::SyncFilesystem);
        drop(hold);
        world.reports(101);
        assert_eq!(world.disk.calls(Operation::SyncFilesystem) - before, 1);
        for (index, log) in logs.iter().enumerate() {
            let records = if index == 0 { round * 2 } else { round };
            assert_eq!(log.flushed_offset(), Offset::new(records));
        }
    }
    let after = world.disk.crash(5).unwrap();
    drop(world.flusher);
    let file = after
        .open(Path::new("/data/web-99/00000000000000000000.log"), crate::io::OpenMode::Read)
        .unwrap();
    assert!(file.len().unwrap() > 0, "records reported as flushed survive");
}

#[test]
fn a_failed_flush_is_fatal_and_not_tried_again() {
    let world = World::new(FlusherOptions::default());
    let (bad, good) = (world.log(0, lazy()), world.log(1, lazy()));
    world.disk.inject(
        Fault::new(Operation::SyncData, Failure::InputOutput).on("web-0/00000000000000000000.log"),
    );
    append(&bad, b"a");
    world.flusher.schedule(&bad, true);
    let reports = world.reports(1);
    assert!(matches!(&reports[..], [Report::Fatal(_)]), "{reports:?}");
    assert_eq!(bad.flushed_offset(), Offset::ZERO);
    world.flusher.schedule(&bad, true);
    append(&good, b"b");
    world.flusher.schedule(&good, true);
    assert_eq!(world.reports(1), [flushed(1, 1)]);
    assert_eq!(world.flusher.failed(), [bad.partition().clone()]);
}

#[test]
fn a_log_that_failed_before_does_not_count_as_a_failed_flush() {
    let world = World::new(FlusherOptions { threads: 1, ..FlusherOptions::default() });
    let (full, good) = (world.log(0, lazy()), world.log(1, lazy()));
    append(&full, b"a");
    let (path, source) = (PathBuf::from("x"), std::io::ErrorKind::StorageFull.into());
    full.fail(&StorageError::OutOfSpace { path, source });
    world.flusher.schedule(&full, true);
    append(&good, b"b");
    world.flusher.schedule(&good, true);
    assert_eq!(world.reports(1), [flushed(1, 1)]);
    assert_eq!(world.flusher.failed(), [full.partition().clone()]);
}

#[test]
fn a_log_whose_sync_failed_elsewhere_is_fatal_to_its_next_flush() {
    let world = World::new(FlusherOptions::default());
    let bad = world.log(0, lazy());
    append(&bad, b"a");
    let segment = "web-0/00000000000000000000.log";
    world.disk.inject(Fault::new(Operation::SyncData, Failure::InputOutput).on(segment));
    let hold = world.disk.hold_sync();
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| bad.flush());
        assert!(hold.wait_for(1, PATIENCE));
        append(&bad, b"b");
        drop(hold);
        flush.join().unwrap().unwrap_err();
    });
    world.flusher.schedule(&bad, true);
    let reports = world.reports(1);
    assert!(matches!(&reports[..], [Report::Fatal(_)]), "{reports:?}");
}

#[test]
fn a_flush_without_a_descriptor_for_the_directory_is_retried() {
    for many in [1, 40] {
        let world = World::new(FlusherOptions { threads: 1, ..FlusherOptions::default() });
        let logs: Vec<_> = (0..many).map(|index| world.log(index, lazy())).collect();
        let fault = Fault::new(Operation::SyncDir, Failure::TooManyOpenFiles);
        world.disk.inject(fault.on("/web-0").times(3));
        let fault = Fault::new(Operation::SyncFilesystem, Failure::TooManyOpenFiles);
        world.disk.inject(fault.times(3));
        let hold = world.disk.hold_sync();
        for log in &logs {
            append(log, b"a");
            world.flusher.schedule(log, true);
        }
        drop(hold);
        let mut reports = world.reports(logs.len());
        reports.sort_by_key(|reports| format!("{reports:?}"));
        let mut expected: Vec<_> = (0..many).map(|index| flushed(index, 1)).collect();
        expected.sort_by_key(|reports| format!("{reports:?}"));
        assert_eq!(reports, expected);
        assert_eq!(world.flusher.unflushed_bytes(), 0);
        assert!(world.flusher.failed().is_empty());
        append(&logs[0], b"b");
        world.flusher.schedule(&logs[0], true);
        assert_eq!(world.reports(1), [flushed(0, 2)]);
    }
}

#[test]
fn a_failed_sync_of_the_file_system_fails_every_log_it_was_for() {
    let world = World::with_one_thread();
    let logs: Vec<_> = (0..40).map(|index| world.log(index, lazy())).collect();
    let hold = world.disk.hold_sync();
    append(&logs[0], b"a");
    world.flusher.schedule(&logs[0], true);
    assert!(hold.wait_for(1, PATIENCE));
    for log in &logs[1..] {
        append(log, b"b");
        world.flusher.schedule(log, true);
    }
    world.disk.inject(Fault::new(Operation::SyncFilesystem, Failure::InputOutput));
    drop(hold);
    let reports = world.reports(40);
    assert_eq!(reports.iter().filter(|reports| matches!(reports, Report::Fatal(_))).count(), 39);
    assert!(logs[1..].iter().all(|log| log.flushed_offset() == Offset::ZERO));
}

#[test]
fn producers_wait_while_the_budget_is_exceeded() {
    let options = FlusherOptions { budget: ByteSize(1_000), ..FlusherOptions::default() };
    let world = World::new(options);
    let log = world.log(0, lazy());
    let hold = world.disk.hold_sync();
    append(&log, &[b'x'; 2_000]);
    world.flusher.schedule(&log, false);
    assert!(world.flusher.is_over_budget());
    assert!(hold.wait_for(1, PATIENCE), "flushed although no setting makes it due");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| world.flusher.wait_for_budget());
        assert!(!waits.is_finished());
        drop(hold);
        waits.join().unwrap();
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(world.flusher.budget_available());
    assert!(!world.flusher.is_over_budget());
    assert_eq!(world.reports(1), [flushed(0, 1)]);
}

#[test]
fn a_stopped_flusher_has_no_threads_left() {
    let world = World::new(FlusherOptions::default());
    let log = world.log(0, lazy());
    append(&log, b"a");
    world.flusher.schedule(&log, false);
    world.flusher.stop();
    drop(world.flusher);
    assert!(world.reports.recv().is_err(), "no thread is left to report anything");
}

#[test]
fn a_thread_that_panics_is_reported_as_a_failed_flush_is() {
    let world = World::with(FlusherOptions::default(), |sender| FlushListener {
        on_flushed: Box::new(|flushed| panic!("broken by the test at {}", flushed.offset)),
        ..listener(sender)
    });
    let log = world.log(0, lazy());
    append(&log, b"v");
    world.flusher.schedule(&log, true);
    let [Report::Fatal(reason)] = &world.reports(1)[..] else { panic!("it is not reported") };
    assert!(reason.contains("flusher-"), "{reason}");
    world.flusher.stop();
}

/// Renames `path`, so that its name refers to nothing.
fn rename_aside(disk: &FaultyDisk, path: &str) {
    disk.rename(Path::new(path), Path::new("/aside")).unwrap();
}

#[test]
fn a_flush_into_a_removed_or_replaced_file_is_refused_and_fatal() {
    for (gone, count) in [("/data/web-0", 1), ("/data", 1), ("/data/web-0", SYNC_TOGETHER_FROM)] {
        let world = World::new(FlusherOptions { threads: 1, ..FlusherOptions::default() });
        let logs: Vec<_> =
            (0..count).map(|index| world.log(index.try_into().unwrap(), lazy())).collect();
        // All logs become due while the first is flushed.
        append(&logs[0], b"a");
        let hold = world.disk.hold_sync();
        world.flusher.schedule(&logs[0], true);
        assert!(hold.wait_for(1, PATIENCE));
        for log in &logs {
            append(log, b"b");
            world.flusher.schedule(log, true);
        }
        drop(hold);
        assert_eq!(world.reports(1), [flushed(0, 1)]);
        world.reports(count);

        append(&logs[0], b"c");
        rename_aside(&world.disk, gone);
        world.disk.create_dir(Path::new(gone)).unwrap();
        world.flusher.schedule(&logs[0], true);
        let reports = world.reports(1);
        assert!(
            matches!(&reports[..], [Report::Fatal(said)] if said.contains(gone)),
            "{reports:?}"
        );
        assert_eq!(logs[0].flushed_offset(), Offset::new(2));
        assert_eq!(world.flusher.failed(), [logs[0].partition().clone()]);
    }
}

#[test]
fn an_append_that_waits_for_no_flush_is_confirmed_once_a_second() {
    let clock = Arc::new(ManualClock::at(NOW));
    let world = World::with_clock(FlusherOptions::default(), listener, Arc::clone(&clock) as _);
    let log = world.log(0, lazy());
    append(&log, b"a");
    world.flusher.confirm(&log).unwrap();
    rename_aside(&world.disk, "/data/web-0");
    clock.advance(Duration::from_millis(999));
    world.flusher.confirm(&log).unwrap();
    clock.advance(Duration::from_millis(1));
    let refused = world.flusher.confirm(&log).unwrap_err();
    assert!(refused.leaves_disk_unknown(), "{refused}");
    assert_eq!(world.reports(1), [Report::Fatal(refused.to_string())]);
    let again = log.append(&mut [], AppendAt { epoch: EPOCH, now: NOW }).unwrap_err();
    assert!(matches!(again, StorageError::Failed { .. }), "{again}");
}
