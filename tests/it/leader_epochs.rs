//! A log under successive leader epochs, and a log that is removed while an epoch begins.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use streamlog::config::ByteSize;
use streamlog::io::faulty::FaultyDisk;
use streamlog::io::{Clock, Disk, ManualClock, MemoryDisk, Share, SystemClock, World};
use streamlog::replication::{Acks, Deletion, LocalLogs, Partition, PartitionSpec};
use streamlog::storage::{
    DataDir, DataDirOptions, FlushListener, Flusher, FlusherOptions, LogConfig, OffsetUnit,
    Offsets, Opener, PartitionMetadata, ProducerLimits, Upkeep, UpkeepListener, UpkeepOptions,
};
use streamlog::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition,
};

use crate::support::batch;

const ID: TopicId = TopicId([7; 16]);

fn id() -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(0) }
}

fn logs(disk: &FaultyDisk) -> LocalLogs {
    logs_by(disk, &(Arc::new(SystemClock) as Arc<dyn Clock>))
}

fn logs_by(disk: &FaultyDisk, clock: &Arc<dyn Clock>) -> LocalLogs {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let options = DataDirOptions {
        opener: Opener { cluster_id: None, broker_id: BrokerId(1) },
        boot_id: "boot".to_owned(),
        configs: Arc::new(|_, _| Arc::default()),
        producers: ProducerLimits::default(),
        recovery_threads: 1,
        keep_deleted: Duration::ZERO,
        open_files: Share::OfProcess,
    };
    let path = Path::new("/data");
    let world = World { disk, clock: Arc::clone(clock) };
    let data = Arc::new(DataDir::open(world.clone(), path, options).unwrap());
    let quiet = FlushListener { on_flushed: Box::new(|_| ()), on_fatal: Box::new(|_| ()) };
    let flusher = Flusher::start(world, path, FlusherOptions::default(), quiet).unwrap();
    let quiet =
        UpkeepListener { high_watermarks: Box::new(Offsets::new), on_fatal: Box::new(|_| ()) };
    let upkeep =
        Upkeep::start(Arc::clone(&data), Arc::clone(clock), UpkeepOptions::default(), quiet)
            .unwrap();
    LocalLogs { data, flusher: Arc::new(flusher), upkeep: Arc::new(upkeep) }
}

fn lead(logs: &LocalLogs, epoch: LeaderEpoch) -> Arc<Partition> {
    lead_with(logs, epoch, LogConfig::default())
}

fn lead_with(logs: &LocalLogs, epoch: LeaderEpoch, config: LogConfig) -> Arc<Partition> {
    let spec = PartitionSpec {
        partition: id(),
        topic_id: ID,
        broker: BrokerId(1),
        epoch,
        in_sync: vec![BrokerId(1)],
        replicas: 1,
        config: Arc::new(config),
    };
    Partition::new(spec, Arc::new(logs.clone()))
}

#[test]
fn a_log_that_is_open_goes_on_under_the_next_epoch() {
    let logs = logs(&FaultyDisk::new(Arc::new(MemoryDisk::default()), 1));
    for epoch in [1, 2] {
        let partition = lead(&logs, LeaderEpoch(epoch));
        partition.lead().unwrap();
        let mut batch = batch([7]);
        let now = SystemClock.now();
        partition.append(&mut [&mut batch], Acks::All, now).unwrap().pop().unwrap().unwrap();
        partition.log().unwrap().flush().unwrap();
        assert_eq!(partition.high_watermark(), Offset::new(epoch.into()));
        partition.stop("the next epoch begins");
    }
}

#[test]
fn a_log_is_not_removed_while_a_leader_epoch_is_recorded() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let logs = logs(&disk);
    let metadata = PartitionMetadata { topic_id: ID, offset_unit: OffsetUnit::Record };
    logs.data.create_log(&id(), metadata).unwrap();
    let partition = lead(&logs, LeaderEpoch(1));

    let hold = disk.hold_sync();
    let leading = thread::spawn(move || partition.lead());
    assert!(hold.wait_for(1, Duration::from_secs(10)), "the leader epoch is not recorded");
    let data = Arc::clone(&logs.data);
    let removing = thread::spawn(move || data.remove_log(&id(), ID));
    thread::sleep(Duration::from_millis(100));
    assert!(disk.exists(Path::new("/data/t-0")).unwrap(), "it was moved away meanwhile");
    drop(hold);
    leading.join().unwrap().unwrap();
    removing.join().unwrap().unwrap();
    assert!(!disk.exists(Path::new("/data/t-0")).unwrap());
}

#[test]
fn deleting_records_removes_no_others_after_a_clock_jump() {
    const DAY: Duration = Duration::from_hours(24);
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)));
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let logs = logs_by(&disk, &(Arc::clone(&clock) as Arc<dyn Clock>));
    let config =
        LogConfig { segment_size: ByteSize(1), retention: Some(DAY * 7), ..LogConfig::default() };
    let partition = lead_with(&logs, LeaderEpoch(1), config);
    partition.lead().unwrap();
    for number in 0..10 {
        let mut batch = batch([number]);
        let now = clock.now();
        partition.append(&mut [&mut batch], Acks::All, now).unwrap().pop().unwrap().unwrap();
    }
    partition.log().unwrap().flush().unwrap();

    clock.set_wall(clock.now().plus(DAY * 30));
    let deletion = Deletion { partition: Arc::clone(&partition), before: Some(2) };
    let starts = logs.delete_records(&[deletion]).unwrap();
    assert_eq!(starts[0].as_ref().unwrap(), &Offset::new(2));
    assert_eq!(partition.log().unwrap().first_segment_end(), Some(Offset::new(3)));
    assert_eq!(partition.log().unwrap().log_end_offset(), Offset::new(10));
}
