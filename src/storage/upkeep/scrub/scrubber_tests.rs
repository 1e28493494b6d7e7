//! Tests of the scrubber on a disk with bit rot.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::faulty::FaultyDisk;
use crate::io::{Clock, Disk, MemoryDisk, Share, SystemClock, World};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::storage::upkeep::scrub::{ScrubOptions, Scrubber};
use crate::storage::{
    AppendAt, DataDir, DataDirOptions, Log, LogConfig, OffsetUnit, Opener, PartitionMetadata,
    ProducerLimits, UpkeepListener,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition,
};

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn open(disk: &FaultyDisk) -> Arc<DataDir> {
    open_with_segments_of(disk, 200)
}

fn open_with_segments_of(disk: &FaultyDisk, bytes: u64) -> Arc<DataDir> {
    let options = DataDirOptions {
        opener: Opener { cluster_id: Some("c".to_owned()), broker_id: BrokerId(1) },
        boot_id: "boot".to_owned(),
        configs: Arc::new(move |_, _| {
            Arc::new(LogConfig { segment_size: ByteSize(bytes), ..LogConfig::default() })
        }),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::ZERO,
        open_files: Share::Fixed(2),
    };
    let world = World { disk: Arc::new(disk.clone()), clock: clock() };
    Arc::new(DataDir::open(world, Path::new("/data"), options).unwrap())
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// A log of ten batches in segments of two.
fn log(directory: &DataDir, number: i32) -> Arc<Log> {
    let partition =
        TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(number) };
    let metadata =
        PartitionMetadata { topic_id: TopicId([1; 16]), offset_unit: OffsetUnit::Record };
    let log = directory.create_log(&partition, metadata).unwrap();
    log.start_epoch(LeaderEpoch(1)).unwrap();
    for _ in 0..10 {
        let mut builder = BatchBuilder::new();
        builder.push(NOW, None, Some(b"0123456789"), &[]).unwrap();
        let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        let at = AppendAt { epoch: LeaderEpoch(1), now: NOW };
        log.append(&mut [&mut batch], at).unwrap().remove(0).unwrap();
    }
    log.flush().unwrap();
    log
}

fn start(directory: &Arc<DataDir>) -> Scrubber {
    let options =
        ScrubOptions { interval: Some(Duration::from_millis(1)), rate: ByteSize(1 << 30) };
    let listener = UpkeepListener {
        high_watermarks: Box::new(Default::default),
        on_fatal: Box::new(|error| panic!("{error}")),
    };
    let mut scrubber = Scrubber::new(Arc::clone(directory), clock(), options, Arc::new(listener));
    scrubber.start().unwrap();
    scrubber
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = clock();
    let deadline = clock.monotonic() + Duration::from_secs(30);
    while !is_so() {
        assert!(clock.monotonic() < deadline, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn unread_bit_rot_is_found_in_closed_and_active_segments() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let directory = open(&disk);
    let logs = [log(&directory, 0), log(&directory, 1)];
    let bases = logs[0].checks().segment_bases();
    assert!(bases.len() > 3, "{bases:?}");
    // Flip a bit in a closed segment, and a bit in the active one.
    let file = |number: i32, base: i64| format!("/data/t-{number}/{base:020}.log");
    let (closed, last) = (bases[1].get(), bases[bases.len() - 1].get());
    disk.flip_bit(Path::new(&file(0, closed)), 70, 1).unwrap();
    disk.flip_bit(Path::new(&file(1, last)), 70, 1).unwrap();
    assert!(logs.iter().all(|log| log.checks().damages().is_empty()));

    let scrubber = start(&directory);
    until("the rot is not found", || logs.iter().all(|log| !log.checks().damages().is_empty()));
    scrubber.stop();
    let first: Vec<_> = logs.iter().map(|log| log.checks().damages()[0].first.get()).collect();
    assert_eq!(first, [closed, last]);
    for log in &logs {
        assert_eq!(log.checks().damages().len(), 1, "found once, however often it is looked at");
        let name = format!("/data/{}/damaged", log.partition());
        assert!(disk.exists(Path::new(&name)).unwrap());
    }
    assert!(disk.exists(Path::new("/data/scrub-checkpoint")).unwrap());
}

#[test]
fn the_scrubber_yields_to_others_for_a_bounded_time() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let directory = open(&disk);
    let log = log(&directory, 0);
    disk.flip_bit(Path::new("/data/t-0/00000000000000000000.log"), 70, 1).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let options =
        ScrubOptions { interval: Some(Duration::from_millis(50)), rate: ByteSize(1 << 30) };
    let listener = UpkeepListener {
        high_watermarks: Box::new(Default::default),
        on_fatal: Box::new(|error| panic!("{error}")),
    };
    let mut scrubber = Scrubber::new(Arc::clone(&directory), clock(), options, Arc::new(listener));
    scrubber.start().unwrap();
    scrubber.yield_to(Box::new(move || counted.fetch_add(1, Ordering::Relaxed) < usize::MAX));
    until("the scrubber does not reach the damage", || !log.checks().damages().is_empty());
    assert!(asked.load(Ordering::Relaxed) >= 20, "it gave way only {asked:?} times");
    scrubber.stop();
}

/// Appends a batch with a value of this many bytes.
fn append(log: &Log, bytes: usize) {
    let mut builder = BatchBuilder::new();
    builder.push(NOW, None, Some(&vec![b'v'; bytes]), &[]).unwrap();
    let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
    let at = AppendAt { epoch: LeaderEpoch(1), now: NOW };
    log.append(&mut [&mut batch], at).unwrap().remove(0).unwrap();
}

#[test]
fn records_that_replace_truncated_records_during_a_check_are_not_called_damaged() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    const REPLACEMENTS: usize = 9;
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let directory = open_with_segments_of(&disk, 1 << 30);
    let log = log(&directory, 0);
    let asked = Arc::new(AtomicUsize::new(0));
    let scrubber = start(&directory);
    // The scrubber asks before each stretch. Meanwhile the log is truncated, and grows again with
    // batches of other sizes.
    let (counted, truncated) = (Arc::clone(&asked), Arc::clone(&log));
    scrubber.yield_to(Box::new(move || {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        if number < REPLACEMENTS {
            truncated.truncator().cut(Offset::new(10)).unwrap();
            (0..30).for_each(|_| append(&truncated, 100_000 + number * 1_000));
        }
        false
    }));
    until("it is not scrubbed on", || asked.load(Ordering::SeqCst) >= 3 * REPLACEMENTS);
    scrubber.stop();
    assert_eq!(log.checks().damages(), []);
    assert!(!disk.exists(Path::new("/data/t-0/damaged")).unwrap());
}
