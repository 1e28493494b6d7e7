//! One side of the journal is damaged, lost or behind, and the store restores everything from the
//! other.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, MemoryDisk, OpenMode, read_exact_at, write_all_at};
use crate::metadata::embedded::codec::{FORMAT, Header, encode_record};
use crate::metadata::embedded::store::EmbeddedStore;
use crate::metadata::tree::Tree;
use crate::metadata::{Node, Op, SessionId, Store, StoreError};

const DIR: &str = "/data/metadata";
const SIDES: [&str; 2] = ["journal", "mirror"];

type Nodes = Vec<(String, Node)>;

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match Box::pin(future).as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the embedded store waited"),
    }
}

fn open(disk: &Arc<dyn Disk>) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(Arc::clone(disk), Path::new(DIR))
}

fn create(disk: &Arc<dyn Disk>, paths: &[&str]) -> Nodes {
    let store = open(disk).unwrap();
    for path in paths {
        ready(store.multi(vec![Op::create(*path, "value")])).unwrap();
    }
    ready(store.snapshot("/")).unwrap()
}

fn nodes(disk: &Arc<dyn Disk>) -> Nodes {
    ready(open(disk).unwrap().snapshot("/")).unwrap()
}

fn memory() -> Arc<dyn Disk> {
    let disk = MemoryDisk::default();
    disk.create_dir(Path::new("/data")).unwrap();
    Arc::new(disk)
}

fn path(number: u64, side: &str) -> PathBuf {
    Path::new(DIR).join(format!("{number:020}.{side}"))
}

fn read(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, OpenMode::Create).unwrap();
    file.set_len(0).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(bytes)], 0).unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

#[test]
fn every_bit_of_either_side_may_flip() {
    let disk = memory();
    let expected = create(&disk, &["/a", "/b"]);
    for side in SIDES {
        let path = path(1, side);
        let sound = read(&*disk, &path);
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            write(&*disk, &path, &bytes);
            assert_eq!(nodes(&disk), expected, "bit {bit} of the {side}");
            assert_eq!(read(&*disk, &path), sound, "bit {bit} of the {side} is restored");
        }
    }
}

#[test]
fn either_side_may_be_lost_or_cut_anywhere() {
    let disk = memory();
    let expected = create(&disk, &["/a", "/b"]);
    for side in SIDES {
        let path = path(1, side);
        let sound = read(&*disk, &path);
        for length in 0..sound.len() {
            write(&*disk, &path, &sound[..length]);
            assert_eq!(nodes(&disk), expected, "the {side} cut at {length}");
            assert_eq!(read(&*disk, &path), sound, "the {side} cut at {length}");
        }
        disk.remove_file(&path).unwrap();
        assert_eq!(nodes(&disk), expected, "the {side} removed");
        assert_eq!(read(&*disk, &path), sound, "the {side} removed");
    }
}

#[test]
fn both_sides_may_be_damaged_in_different_records() {
    let disk = memory();
    let expected = create(&disk, &["/a", "/b", "/c"]);
    let sound = read(&*disk, &path(1, "journal"));
    for (side, position) in [("journal", 10), ("mirror", sound.len() - 10)] {
        let mut bytes = sound.clone();
        bytes[position] ^= 1;
        write(&*disk, &path(1, side), &bytes);
    }
    assert_eq!(nodes(&disk), expected);
    assert_eq!(read(&*disk, &path(1, "journal")), read(&*disk, &path(1, "mirror")));
}

#[test]
fn both_sides_damaged_at_one_record_are_refused_with_the_remedy_and_left_alone() {
    let disk = memory();
    create(&disk, &["/a", "/b", "/c"]);
    let sound = read(&*disk, &path(1, "journal"));
    let mut damaged = sound.clone();
    let middle = sound.len() / 2;
    damaged[middle] ^= 1;
    for side in SIDES {
        write(&*disk, &path(1, side), &damaged);
    }
    for _ in 0..2 {
        let error = open(&disk).unwrap_err();
        let StoreError::Damaged { file, position, .. } = &error else { panic!("{error}") };
        assert_eq!(file, &path(1, "journal"));
        assert!(*position <= middle as u64 && *position > middle as u64 / 4, "{position}");
        assert!(error.to_string().contains("streamlog log rebuild-metadata"), "{error}");
        assert_eq!(read(&*disk, &path(1, "mirror")), damaged);
    }
}

#[test]
fn a_directory_that_has_lost_both_sides_is_refused_with_the_remedy() {
    let disk = memory();
    create(&disk, &["/a"]);
    for side in SIDES {
        disk.remove_file(&path(1, side)).unwrap();
    }
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, StoreError::JournalMissing { .. }), "{error}");
    assert!(error.to_string().contains("streamlog log rebuild-metadata"), "{error}");
}

#[test]
fn a_journal_published_by_half_and_damaged_leaves_the_one_before_in_force() {
    let disk = memory();
    let expected = create(&disk, &["/a"]);
    let mut bytes = read(&*disk, &path(1, "journal"));
    bytes[40] ^= 1;
    write(&*disk, &path(2, "mirror"), &bytes);
    assert_eq!(nodes(&disk), expected);
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 2);
}

#[test]
fn a_restoration_interrupted_at_any_call_loses_nothing() {
    let calls = [
        Operation::Open,
        Operation::Write,
        Operation::SyncData,
        Operation::Rename,
        Operation::SyncDir,
        Operation::SetLen,
    ];
    for operation in calls {
        for (side, nth) in SIDES.iter().flat_map(|side| (1..=6).map(move |nth| (side, nth))) {
            let faulty = faulty_disk(nth);
            let disk: Arc<dyn Disk> = Arc::new(faulty.clone());
            let expected = create(&disk, &["/a", "/b"]);
            let mut bytes = read(&*disk, &path(1, side));
            bytes[70] ^= 1;
            write(&*disk, &path(1, side), &bytes);
            faulty.inject(Fault::new(operation, Failure::InputOutput).at_call(nth).for_ever());
            let _ = open(&disk);
            faulty.clear_faults();
            let disk: Arc<dyn Disk> = Arc::new(faulty.crash(nth).unwrap());
            assert_eq!(nodes(&disk), expected, "{operation:?} {nth} of the {side}");
        }
    }
}

/// A journal as an earlier release wrote it.
fn write_without_mirror(disk: &dyn Disk) {
    let header = Header { format: FORMAT, snapshot_records: 0, snapshot_txn: 0, has_mirror: false };
    let (mut bytes, mut tree) = (header.encode(), Tree::new());
    for (txn, path) in [(1, "/a"), (2, "/b")] {
        let (changes, _) =
            tree.plan(vec![Op::create(path, "value")], txn, SessionId::PAST).unwrap();
        bytes.extend(encode_record(txn, &changes));
        tree.apply(txn, changes);
    }
    disk.create_dir(Path::new(DIR)).unwrap();
    disk.sync_dir(Path::new("/data")).unwrap();
    write(disk, &path(1, "journal"), &bytes);
}

fn faulty_disk(seed: u64) -> FaultyDisk {
    let memory = MemoryDisk::default();
    memory.create_dir(Path::new("/data")).unwrap();
    FaultyDisk::new(Arc::new(memory), seed)
}

#[test]
fn a_journal_of_an_earlier_release_gains_its_mirror_whatever_call_fails_meanwhile() {
    let expected: Vec<String> = ["/", "/a", "/b"].map(str::to_owned).into();
    let paths = |nodes: Nodes| nodes.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    for operation in [
        Operation::Open,
        Operation::Write,
        Operation::SyncData,
        Operation::Rename,
        Operation::Remove,
    ] {
        for nth in 0..=6 {
            let faulty = faulty_disk(nth);
            write_without_mirror(&faulty);
            let disk: Arc<dyn Disk> = Arc::new(faulty.clone());
            if nth > 0 {
                faulty.inject(Fault::new(operation, Failure::InputOutput).at_call(nth).for_ever());
            }
            let _ = open(&disk);
            faulty.clear_faults();
            let disk: Arc<dyn Disk> = Arc::new(faulty.crash(nth).unwrap());
            assert_eq!(paths(nodes(&disk)), expected, "{operation:?} {nth}");
            let sides = SIDES.map(|side| read(&*disk, &path(2, side)));
            assert_eq!(sides[0], sides[1], "{operation:?} {nth}");
        }
    }
}

#[test]
fn without_room_for_a_mirror_the_journal_is_used_without_one() {
    let faulty = faulty_disk(1);
    write_without_mirror(&faulty);
    let disk: Arc<dyn Disk> = Arc::new(faulty.clone());
    faulty.inject(Fault::new(Operation::Write, Failure::NoSpace).for_ever());
    assert_eq!(nodes(&disk).len(), 3);
    faulty.clear_faults();
    let more = create(&disk, &["/c"]);
    assert_eq!(nodes(&disk), more);
    assert_eq!(read(&*disk, &path(2, "journal")), read(&*disk, &path(2, "mirror")));
}
