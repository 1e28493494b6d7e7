//! Loss of, or damage to, the metadata journal and the metadata files of logs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use streamlog::broker::{BrokerError, rebuild_on, verify_directory_on};
use streamlog::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use streamlog::io::{Disk, MemoryDisk, OpenMode};
use streamlog::metadata::{EmbeddedStore, Op, Store};
use streamlog::types::TopicName;

use crate::support::{LocalBroker, TOPIC, batch};

const DATA: &str = "/data";
const JOURNAL: &str = "/data/metadata";

/// The disk of a broker that was shut down cleanly, with four records in the test's topic.
fn stopped(seed: u64) -> FaultyDisk {
    let broker =
        LocalBroker::with_topic(FaultyDisk::new(Arc::new(MemoryDisk::default()), seed), &[]);
    broker.connect().produce(batch(0..4), -1).unwrap().unwrap();
    broker.stop().unwrap()
}

/// A way to lose the journal.
type Loss = fn(&FaultyDisk);

fn files(disk: &dyn Disk, dir: &str) -> Vec<PathBuf> {
    let entries = disk.list(Path::new(dir)).unwrap();
    entries.into_iter().map(|entry| Path::new(dir).join(entry.name)).collect()
}

fn rebuild(disk: &FaultyDisk) -> Result<(), BrokerError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    rebuild_on(&disk, Path::new(DATA), &BTreeMap::new(), &mut || ControlFlow::Continue(()))
        .map(drop)
}

/// Checks that the broker starts, has the records, and accepts another.
fn serves(disk: FaultyDisk, what: &str) -> FaultyDisk {
    let broker = LocalBroker::on(disk, &[]).unwrap_or_else(|error| panic!("{what}: {error}"));
    let records = broker.connect().read_from(0).unwrap();
    assert_eq!(records, [(0, 0), (1, 1), (2, 2), (3, 3)], "{what}");
    assert_eq!(broker.connect().produce(batch(4..5), -1).unwrap(), Ok(4), "{what}");
    broker.stop().unwrap()
}

fn refuses_with_the_remedy(disk: &FaultyDisk, what: &str) {
    let Err(error) = LocalBroker::on(disk.clone(), &[]) else { panic!("{what}: it starts") };
    let error = error.to_string();
    assert!(error.contains("streamlog log rebuild-metadata"), "{what}: {error}");
    assert!(disk.exists(Path::new("/data/test-0")).unwrap(), "{what}: the log is where it was");
}

#[test]
fn a_lost_journal_is_refused_and_rebuilt_from_the_logs() {
    let losses: [(&str, Loss); 3] = [
        ("without its files", |disk| {
            for file in files(disk, JOURNAL) {
                disk.remove_file(&file).unwrap();
            }
        }),
        ("without its directory", |disk| {
            disk.rename(Path::new(JOURNAL), Path::new("/elsewhere")).unwrap();
        }),
        ("cut behind its snapshot", |disk| {
            for file in files(disk, JOURNAL) {
                disk.open(&file, OpenMode::Write).unwrap().set_len(100).unwrap();
            }
        }),
    ];
    for (what, lose) in losses {
        let disk = stopped(1);
        lose(&disk);
        refuses_with_the_remedy(&disk, what);
        rebuild(&disk).unwrap();
        let disk = serves(disk, what);
        assert!(!disk.exists(Path::new("/data/quarantine/test-0")).unwrap());
    }
}

#[test]
fn a_journal_that_is_sound_is_left_alone() {
    let disk = stopped(1);
    let before = files(&disk, JOURNAL);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    assert!(
        rebuild_on(&shared, Path::new(DATA), &BTreeMap::new(), &mut || ControlFlow::Continue(()))
            .unwrap()
            .is_none()
    );
    assert_eq!(files(&disk, JOURNAL), before);
    serves(disk, "left alone");
}

#[test]
fn a_rebuild_interrupted_at_any_call_leaves_the_old_journal_or_the_new() {
    let operations = [
        Operation::Write,
        Operation::SyncData,
        Operation::Rename,
        Operation::SyncDir,
        Operation::CreateDir,
        Operation::Open,
    ];
    for operation in operations {
        for nth in 1..=12 {
            let what = format!("{operation:?} {nth}");
            let disk = stopped(nth);
            for file in files(&disk, JOURNAL) {
                let file = disk.open(&file, OpenMode::Write).unwrap();
                file.set_len(100).unwrap();
                file.sync_data().unwrap();
            }
            let fault = Fault::new(operation, Failure::InputOutput).at_call(nth).for_ever();
            disk.inject(fault);
            let interrupted = rebuild(&disk).is_err();
            disk.clear_faults();
            let disk = disk.crash(nth).unwrap();
            if interrupted {
                rebuild(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            serves(disk, &what);
        }
    }
}

const IDENTITY: &str = "/data/meta.properties";

/// The identity, without the parts that are new after a rebuild.
fn owner(disk: &dyn Disk) -> Vec<String> {
    let text = String::from_utf8(bytes(disk, Path::new(IDENTITY))).unwrap();
    let lines =
        text.lines().filter(|line| line.contains("cluster.id") || line.contains("broker.id"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_lost_or_damaged_identity_is_refused_and_rebuilt_from_the_journal() {
    let losses: [(&str, Loss); 3] = [
        ("lost", |disk| disk.remove_file(Path::new(IDENTITY)).unwrap()),
        ("damaged", |disk| write(disk, Path::new(IDENTITY), b"streamlog.format=1\ncluster.id=x\n")),
        ("empty", |disk| write(disk, Path::new(IDENTITY), b"")),
    ];
    for (what, lose) in losses {
        let disk = stopped(1);
        let before = owner(&disk);
        lose(&disk);
        refuses_with_the_remedy(&disk, what);
        let found = verify_directory_on(&disk, Path::new(DATA)).unwrap();
        assert!(found.iter().any(|f| f.is_damage && f.file == Path::new(IDENTITY)), "{found:?}");
        rebuild(&disk).unwrap();
        assert_eq!(owner(&disk), before, "{what}");
        serves(disk, what);
    }
}

#[test]
fn an_identity_that_no_file_records_is_not_invented() {
    let disk = stopped(1);
    disk.remove_file(Path::new(IDENTITY)).unwrap();
    for file in files(&disk, JOURNAL) {
        disk.open(&file, OpenMode::Write).unwrap().set_len(10).unwrap();
    }
    let error = rebuild(&disk).unwrap_err().to_string();
    assert!(error.contains("meta.properties") && error.contains("backup"), "{error}");
    assert!(!disk.exists(Path::new(IDENTITY)).unwrap());
}

#[test]
fn a_restoration_of_the_identity_interrupted_at_any_call_is_done_by_the_next() {
    for operation in [Operation::Write, Operation::SyncData, Operation::Rename, Operation::SyncDir]
    {
        for nth in 1..=5 {
            let what = format!("{operation:?} {nth}");
            let disk = stopped(nth);
            let before = owner(&disk);
            write(&disk, Path::new(IDENTITY), b"streamlog.format=1\n");
            disk.inject(Fault::new(operation, Failure::InputOutput).at_call(nth).for_ever());
            let interrupted = rebuild(&disk).is_err();
            disk.clear_faults();
            let disk = disk.crash(nth).unwrap();
            if interrupted {
                rebuild(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            assert_eq!(owner(&disk), before, "{what}");
            serves(disk, &what);
        }
    }
}

#[test]
fn a_rebuilt_journal_reuses_no_producer_id_and_keeps_requested_partitions() {
    let disk = stopped(1);
    disk.rename(Path::new(JOURNAL), Path::new("/elsewhere")).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let topic: TopicName = TOPIC.parse().unwrap();
    let wanted = BTreeMap::from([(topic.clone(), 3)]);
    let rebuilt = rebuild_on(&shared, Path::new(DATA), &wanted, &mut || ControlFlow::Continue(()))
        .unwrap()
        .unwrap();
    assert!(rebuilt.next_producer_id.0 >= 1_000_000, "{rebuilt:?}");
    assert!(!rebuilt.was_whole);
    let [topic] = &rebuilt.topics[..] else { panic!("{rebuilt:?}") };
    assert_eq!((topic.name.as_str(), topic.partitions), (TOPIC, 3));
    serves(disk, "with three partitions");
}

#[test]
fn lost_partition_metadata_is_rebuilt_from_the_journal() {
    let path = Path::new("/data/test-0/partition.metadata");
    let disk = stopped(1);
    let sound = bytes(&disk, path);
    let disk = {
        disk.remove_file(path).unwrap();
        serves(disk, "removed")
    };
    assert_eq!(bytes(&disk, path), sound);
    let mut changed = sound.clone();
    changed[30] ^= 4;
    write(&disk, path, &changed);
    let broker = LocalBroker::on(disk, &[]).unwrap();
    assert_eq!(broker.connect().read_from(0).unwrap().len(), 5);
    let disk = broker.stop().unwrap();
    assert_eq!(bytes(&disk, path), sound);
}

#[test]
fn an_interrupted_deletion_is_completed_even_if_the_log_has_lost_its_metadata() {
    for is_damaged in [false, true] {
        let disk = stopped(1);
        let path = Path::new("/data/test-0/partition.metadata");
        let text = String::from_utf8(bytes(&disk, path)).unwrap();
        let id = text.lines().find_map(|line| line.strip_prefix("topic_id: ")).unwrap();
        let tombstone =
            r#"{"version":1,"topic":"test","partitions":1,"pending":[1],"timestamp":"0"}"#;
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let store = EmbeddedStore::open(shared, Path::new(JOURNAL)).unwrap();
        let op = Op::create(format!("/admin/deleted_topics/{id}"), tombstone);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.multi(vec![op])).unwrap();
        drop(store);
        if is_damaged {
            write(&disk, path, b"version: 0\n");
        }
        let broker = LocalBroker::on(disk.clone(), &[]).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while disk.exists(Path::new("/data/test-0")).unwrap() {
            assert!(std::time::Instant::now() < deadline, "the log stays");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        broker.stop().unwrap();
    }
}

fn bytes(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    streamlog::io::read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, OpenMode::Create).unwrap();
    file.set_len(0).unwrap();
    streamlog::io::write_all_at(&*file, &mut [std::io::IoSlice::new(bytes)], 0).unwrap();
    file.sync_data().unwrap();
}
