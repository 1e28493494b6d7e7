//! Tests of a data directory on a working disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::io::{self, Clock, Disk, ManualClock, MemoryDisk, OpenMode, Share};
use crate::record::{BatchBuilder, BatchSettings, Compressor};
use crate::storage::{
    AppendAt, DataDir, DataDirOptions, HighWatermarks, Log, LogConfig, LogConfigs, OffsetUnit,
    Opener, PartitionMetadata, ProducerLimits, StorageError, small_file,
};
use crate::types::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, TopicPartition,
};

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const KEPT: Duration = Duration::from_mins(1);

/// A machine with one data directory.
pub(super) struct World {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) boot_id: String,
}

impl World {
    pub(super) fn new() -> Self {
        Self::on(Arc::new(MemoryDisk::default()))
    }

    pub(super) fn on(disk: Arc<dyn Disk>) -> Self {
        let clock = Arc::new(ManualClock::at(NOW));
        Self { disk, clock, boot_id: "boot-1".to_owned() }
    }

    pub(super) fn open(&self) -> Result<DataDir, StorageError> {
        self.open_as(Some("cluster-1"), 7)
    }

    fn open_as(&self, cluster: Option<&str>, broker: i32) -> Result<DataDir, StorageError> {
        let opener = Opener { cluster_id: cluster.map(str::to_owned), broker_id: BrokerId(broker) };
        let configs: LogConfigs = Arc::new(|_, metadata| {
            let offset_unit = metadata.offset_unit;
            Arc::new(LogConfig { offset_unit, ..LogConfig::default() })
        });
        self.open_with(opener, configs)
    }

    pub(super) fn open_with(
        &self,
        opener: Opener,
        configs: LogConfigs,
    ) -> Result<DataDir, StorageError> {
        let options = DataDirOptions {
            opener,
            boot_id: self.boot_id.clone(),
            configs,
            producers: ProducerLimits::default(),
            recovery_threads: 2,
            keep_deleted: KEPT,
            open_files: Share::OfProcess,
        };
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let world = io::World { disk: Arc::clone(&self.disk), clock };
        DataDir::open(world, Path::new(DATA), options)
    }

    pub(super) fn names(&self, dir: &str) -> Vec<String> {
        let entries = self.disk.list(Path::new(dir)).unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    pub(super) fn put(&self, path: &str, bytes: &[u8]) {
        let path = PathBuf::from(path);
        self.disk.create_dir(path.parent().unwrap()).unwrap();
        small_file::write_new(&*self.disk, &path, bytes).unwrap();
    }
}

pub(super) const DATA: &str = "/data";

pub(super) fn partition(index: i32) -> TopicPartition {
    TopicPartition { topic: "web".parse().unwrap(), partition: PartitionIndex(index) }
}

pub(super) fn topic(number: u8) -> PartitionMetadata {
    PartitionMetadata { topic_id: TopicId([number; 16]), offset_unit: OffsetUnit::Record }
}

/// Appends records, one batch each, in a new epoch.
pub(super) fn append(log: &Log, count: i64) -> Result<(), StorageError> {
    let epoch = log.epochs().latest()?.map_or(LeaderEpoch(0), |epoch| LeaderEpoch(epoch.0 + 1));
    append_in(log, epoch, count)
}

/// As `append`, in this epoch.
pub(super) fn append_in(log: &Log, epoch: LeaderEpoch, count: i64) -> Result<(), StorageError> {
    log.start_epoch(epoch)?;
    for number in 0..count {
        let mut builder = BatchBuilder::new();
        let value = number.to_be_bytes();
        builder.push(NOW, None, Some(&value), &[]).unwrap();
        let mut batch = builder.build(&BatchSettings::default(), &mut Compressor::none()).unwrap();
        log.append(&mut [&mut batch], AppendAt { epoch, now: NOW })?;
    }
    Ok(())
}

/// A directory with a log of ten records in partition 0, open.
pub(super) fn with_ten_records(world: &World) -> (DataDir, Arc<Log>) {
    let directory = world.open().unwrap();
    let log = directory.create_log(&partition(0), topic(1)).unwrap();
    append(&log, 10).unwrap();
    (directory, log)
}

/// A high watermark of the log of ten records.
pub(super) fn watermark(offset: i64) -> HighWatermarks {
    HighWatermarks::from([((partition(0), topic(1).topic_id), Offset::new(offset))])
}

pub(super) fn stop(directory: DataDir, high_watermark: i64) {
    directory.close(&watermark(high_watermark)).unwrap();
    drop(directory);
}

#[test]
fn a_new_directory_gets_an_identity_and_keeps_it() {
    let world = World::new();
    let directory = world.open().unwrap();
    let identity = directory.identity().clone();
    assert_eq!((identity.cluster_id.as_str(), identity.broker_id), ("cluster-1", BrokerId(7)));
    assert_eq!(directory.run().incarnation, 1);
    drop(directory);
    let directory = world.open_as(None, 7).unwrap();
    assert_eq!(directory.identity(), identity);
    assert_eq!(directory.run().incarnation, 2);
}

#[test]
fn a_directory_with_a_new_id_has_the_same_owner() {
    let world = World::new();
    let directory = world.open().unwrap();
    let before = directory.identity();
    directory.renew_identity().unwrap();
    let renewed = directory.identity();
    assert_ne!(renewed.directory_id, before.directory_id);
    drop(directory);
    let directory = world.open_as(None, 7).unwrap();
    assert_eq!(directory.identity(), renewed);
    let owner = (renewed.cluster_id.as_str(), renewed.broker_id);
    assert_eq!(owner, ("cluster-1", BrokerId(7)));
}

#[test]
fn a_directory_that_lost_the_number_of_its_run_takes_a_higher_one() {
    for damage in [Some(&b"nonsense"[..]), None] {
        let world = World::new();
        drop(world.open().unwrap());
        match damage {
            Some(bytes) => world.put("/data/run", bytes),
            None => world.disk.remove_file(Path::new("/data/run")).unwrap(),
        }
        let number = world.open().unwrap().run().incarnation;
        assert!(number > 1_000_000_000, "{number}");
        assert_eq!(world.open().unwrap().run().incarnation, number + 1);
    }
}

#[test]
fn a_directory_keeps_the_tokens_of_registrations_until_it_gets_a_new_id() {
    let world = World::new();
    let tokens = vec!["one".to_owned(), "two".to_owned()];
    let directory = world.open().unwrap();
    assert!(directory.identity().tokens.is_empty());
    directory.replace_tokens(tokens.clone()).unwrap();
    stop(directory, 0);
    let directory = world.open().unwrap();
    assert!(directory.start_report().was_clean);
    assert_eq!(directory.identity().tokens, tokens);
    directory.renew_identity().unwrap();
    drop(directory);
    assert!(world.open().unwrap().identity().tokens.is_empty());
}

#[test]
fn a_directory_in_use_is_refused_with_its_user() {
    let world = World::new();
    let directory = world.open().unwrap();
    let refusal = world.open().unwrap_err().to_string();
    let owner = format!("process {} of boot boot-1", std::process::id());
    assert!(refusal.contains(&owner) && refusal.contains(DATA), "{refusal}");
    drop(directory);
    world.open().unwrap();
}

#[test]
fn a_directory_of_another_owner_is_refused() {
    let world = World::new();
    drop(world.open().unwrap());
    for refusal in [world.open_as(Some("other"), 7), world.open_as(None, 8)] {
        assert!(matches!(refusal, Err(StorageError::Foreign { .. })), "{refusal:?}");
    }
}

#[test]
fn a_directory_with_strange_files_and_no_identity_is_left_alone() {
    for path in ["/data/thesis.txt", "/data/web-0/00000000000000000000.log", "/data/photos/1"] {
        let world = World::new();
        world.put(path, b"precious");
        let refusal = world.open().unwrap_err();
        assert!(matches!(refusal, StorageError::Foreign { .. }), "{path}: {refusal}");
        assert!(world.disk.exists(Path::new(path)).unwrap());
    }
    let world = World::new();
    world.put("/data/lost+found/x", b"the file system's own");
    world.open().unwrap();
}

#[test]
fn after_a_clean_shutdown_logs_open_at_their_first_use() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 9);
    assert!(world.names(DATA).contains(&"clean-stop".to_owned()));

    let directory = world.open().unwrap();
    assert!(directory.start_report().was_clean);
    assert_eq!(directory.start_report().recovered, 0);
    assert!(directory.open_logs().is_empty());
    assert_eq!(directory.partitions(), [(partition(0), topic(1))]);
    assert_eq!(directory.high_watermark(&partition(0)), Some(Offset::new(9)));
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!((log.log_end_offset(), log.flushed_offset()), (Offset::new(10), Offset::new(10)));
    assert!(directory.log(&partition(1)).unwrap().is_none());
    assert!(!world.names(DATA).contains(&"clean-stop".to_owned()), "the opening has removed it");
}

#[test]
fn a_damaged_identity_without_a_journal_beside_it_is_not_said_to_be_rebuilt_from_one() {
    let world = World::new();
    stop(with_ten_records(&world).0, 9);
    let identity = Path::new("/data/meta.properties");
    small_file::replace(&*world.disk, identity, b"streamlog.format=1\n").unwrap();
    let refused = world.open().unwrap_err().to_string();
    assert!(!refused.contains("rebuild-metadata"), "{refused}");
    assert!(refused.contains("backup") && refused.contains("/streamlog/brokers"), "{refused}");
}

#[test]
fn a_log_that_is_being_opened_holds_up_neither_the_settings_of_others_nor_a_checkpoint() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    directory.create_log(&partition(1), topic(2)).unwrap();
    stop(directory, 9);

    let (opening, is_opening) = mpsc::sync_channel(1);
    let (go_on, may_go_on) = mpsc::sync_channel::<()>(1);
    let may_go_on = Mutex::new(may_go_on);
    let configs: LogConfigs = Arc::new(move |id, _| {
        if *id == partition(0) {
            opening.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
        Arc::new(LogConfig::default())
    });
    let directory = Arc::new(world.open_with(opener(), configs).unwrap());
    let another = Arc::clone(&directory);
    let opener = thread::spawn(move || another.log(&partition(0)).unwrap().unwrap());
    is_opening.recv().unwrap();

    let (done, is_done) = mpsc::sync_channel(1);
    let another = Arc::clone(&directory);
    let other_work = thread::spawn(move || {
        another.set_config(&partition(0), topic(1).topic_id, Arc::default());
        another.checkpoint(&HighWatermarks::new()).unwrap();
        another.log(&partition(1)).unwrap().unwrap();
        done.send(()).unwrap();
    });
    let in_time = is_done.recv_timeout(Duration::from_secs(10));
    go_on.send(()).unwrap();
    assert_eq!(opener.join().unwrap().log_end_offset(), Offset::new(10));
    other_work.join().unwrap();
    assert!(in_time.is_ok(), "the other work has waited");
}

#[test]
fn logs_not_opened_between_two_shutdowns_keep_their_recorded_offsets() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 9);
    stop(world.open().unwrap(), 4);
    let directory = world.open().unwrap();
    assert!(directory.start_report().was_clean);
    assert_eq!(directory.high_watermark(&partition(0)), Some(Offset::new(9)), "it never falls");
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(10));
}

#[test]
fn a_manifest_of_an_earlier_run_is_ignored() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 9);
    let manifest = Path::new("/data/clean-stop");
    let stale = small_file::read(&*world.disk, manifest).unwrap().unwrap();
    drop(world.open().unwrap());
    world.put("/data/clean-stop", &stale);
    let directory = world.open().unwrap();
    assert!(!directory.start_report().was_clean);
    assert_eq!(directory.start_report().recovered, 1);
}

#[test]
fn without_a_clean_shutdown_every_log_is_recovered() {
    let world = World::new();
    let directory = world.open().unwrap();
    for index in 0..5 {
        let log = directory.create_log(&partition(index), topic(1)).unwrap();
        append(&log, i64::from(index) + 1).unwrap();
        log.flush().unwrap();
    }
    drop(directory);
    let directory = world.open().unwrap();
    assert_eq!(directory.start_report().recovered, 5);
    for index in 0..5 {
        let log = directory.log(&partition(index)).unwrap().unwrap();
        assert_eq!(log.log_end_offset(), Offset::new(i64::from(index) + 1));
    }
}

#[test]
fn a_log_is_created_once() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    let again = directory.create_log(&partition(0), topic(1)).unwrap();
    assert!(Arc::ptr_eq(&log, &again));
    let other = directory.create_log(&partition(0), topic(2));
    assert!(matches!(other, Err(StorageError::Foreign { .. })), "{other:?}");
    let by_bytes = PartitionMetadata { offset_unit: OffsetUnit::Byte, ..topic(1) };
    assert!(directory.create_log(&partition(0), by_bytes).is_err());
}

#[test]
fn a_removed_log_is_gone_at_once_and_its_files_later() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    assert!(directory.remove_log(&partition(0), TopicId([9; 16])).is_err(), "another topic");
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
    assert!(append(&log, 1).is_err());
    assert!(directory.log(&partition(0)).unwrap().is_none());
    assert!(directory.partitions().is_empty());
    let names = world.names(DATA);
    assert!(names.iter().any(|name| name.ends_with(".deleted")), "{names:?}");
    assert!(!names.contains(&"web-0".to_owned()));

    let due = directory.remove_deleted().unwrap().unwrap();
    assert_eq!(due, world.clock.monotonic() + KEPT);
    world.clock.advance(KEPT);
    assert_eq!(directory.remove_deleted().unwrap(), None);
    assert!(!world.names(DATA).iter().any(|name| name.ends_with(".deleted")));
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
}

#[test]
fn a_deleted_log_found_at_the_start_is_kept_as_long() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
    drop(directory);
    let directory = world.open().unwrap();
    assert!(directory.remove_deleted().unwrap().is_some());
    world.clock.advance(KEPT);
    assert_eq!(directory.remove_deleted().unwrap(), None);
}

#[test]
fn a_new_log_under_an_old_name_has_none_of_its_recorded_offsets() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    directory.checkpoint(&watermark(10)).unwrap();
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
    directory.create_log(&partition(0), topic(2)).unwrap();
    assert_eq!(directory.high_watermark(&partition(0)), None);
    drop(directory);
    let directory = world.open().unwrap();
    assert_eq!(directory.high_watermark(&partition(0)), None);
    let log = directory.log(&partition(0)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::ZERO);
    append(&log, 5).unwrap();
    log.flush().unwrap();
    directory.checkpoint(&watermark(10)).unwrap();
    assert_eq!(directory.high_watermark(&partition(0)), None, "it was the deleted topic's");
}

#[test]
fn unknown_files_are_moved_to_quarantine() {
    let world = World::new();
    drop(with_ten_records(&world));
    world.put("/data/notes.txt", b"mine");
    world.put("/data/photos/1", b"mine too");
    world.put("/data/3e1b2f4c-0000-4000-8000-000000000000.tmp/partition.metadata", b"half");
    let directory = world.open().unwrap();
    let quarantined = &directory.start_report().quarantined;
    assert_eq!(quarantined.len(), 2, "{quarantined:?}");
    for path in quarantined {
        assert!(path.starts_with("/data/quarantine") && world.disk.exists(path).unwrap());
    }
    let names = world.names(DATA);
    assert!(!names.iter().any(|name| name.contains(".tmp")), "{names:?}");
}

#[test]
fn a_log_of_an_unknown_topic_is_neither_served_nor_replaced() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 10);
    world.put("/data/web-0/partition.metadata", b"version: 0\n");
    let directory = world.open().unwrap();
    assert_eq!(directory.start_report().unusable, [partition(0)]);
    let refusal = directory.log(&partition(0)).unwrap_err();
    assert!(matches!(refusal, StorageError::Damaged { .. }), "{refusal}");
    assert!(directory.create_log(&partition(0), topic(1)).is_err());
    assert!(world.disk.exists(Path::new("/data/web-0/00000000000000000000.log")).unwrap());
}

#[test]
fn a_log_of_an_earlier_topic_of_the_same_name_is_not_that_of_the_topic() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    let found = directory.log_of(&partition(0), topic(1).topic_id).unwrap().unwrap();
    assert!(Arc::ptr_eq(&found, &log));
    assert!(directory.log_of(&partition(0), topic(2).topic_id).unwrap().is_none());
}

#[test]
fn a_log_that_is_identified_has_its_file_and_its_records_again() {
    let world = World::new();
    let (directory, _) = with_ten_records(&world);
    stop(directory, 10);
    world.disk.remove_file(Path::new("/data/web-0/partition.metadata")).unwrap();
    let directory = world.open().unwrap();
    assert_eq!(directory.unidentified(), [partition(0)]);
    let log = directory.identify(&partition(0), topic(1)).unwrap().unwrap();
    assert_eq!(log.log_end_offset(), Offset::new(10));
    assert!(directory.unidentified().is_empty());
    assert!(directory.identify(&partition(0), topic(2)).unwrap().is_none());
    drop(log);
    stop(directory, 10);
    let directory = world.open().unwrap();
    assert_eq!(directory.partitions(), [(partition(0), topic(1))]);
}

#[test]
fn a_checkpoint_of_a_later_release_stops_the_start() {
    let world = World::new();
    drop(world.open().unwrap());
    let body = "1\n0\n";
    let crc = crc32c::crc32c(body.as_bytes());
    world.put("/data/log-start-offset-checkpoint", format!("{body}crc {crc:08x}\n").as_bytes());
    let refusal = world.open().unwrap_err();
    assert!(matches!(refusal, StorageError::TooNew { .. }), "{refusal}");
}

#[test]
fn nothing_is_written_after_the_close() {
    let world = World::new();
    let (directory, log) = with_ten_records(&world);
    directory.close(&HighWatermarks::new()).unwrap();
    assert!(append(&log, 1).is_err());
    let before = small_file::read(&*world.disk, Path::new("/data/clean-stop")).unwrap();
    directory.checkpoint(&watermark(10)).unwrap();
    directory.close(&HighWatermarks::new()).unwrap();
    let after = small_file::read(&*world.disk, Path::new("/data/clean-stop")).unwrap();
    assert_eq!(before, after);
    let checkpoint = Path::new("/data/high-watermark-checkpoint");
    let opened = world.disk.open(checkpoint, OpenMode::Read);
    assert_eq!(opened.map(|_| ()).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_removed_log_does_not_write_to_the_files_of_its_successor() {
    let world = World::new();
    let (directory, old) = with_ten_records(&world);
    directory.remove_log(&partition(0), topic(1).topic_id).unwrap();
    let new = directory.create_log(&partition(0), topic(2)).unwrap();
    append(&new, 3).unwrap();
    assert!(directory.hold(&old).is_none());
    assert!(directory.hold(&new).is_some());
    assert!(directory.truncate_log(&old, Offset::ZERO).is_err());
    assert!(directory.advance_log_start(&old, Offset::new(5)).is_err());
    assert_eq!(new.log_end_offset(), Offset::new(3));
}

pub(super) fn opener() -> Opener {
    Opener { cluster_id: Some("cluster-1".to_owned()), broker_id: BrokerId(7) }
}
