//! The journal on a full disk: it is replaced by its snapshot if that frees space.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, MemoryDisk, OpenMode};
use crate::metadata::embedded::EmbeddedStore;
use crate::metadata::{Op, Store, StoreError};

const DIR: &str = "/data/metadata";

fn disk() -> FaultyDisk {
    let memory = MemoryDisk::default();
    memory.create_dir(Path::new("/data")).unwrap();
    FaultyDisk::new(Arc::new(memory), 1)
}

fn open(disk: &FaultyDisk) -> EmbeddedStore {
    EmbeddedStore::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap()
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match Box::pin(future).as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the embedded store waited"),
    }
}

/// Sets the node to another value of a kilobyte.
fn set(store: &EmbeddedStore, number: i32) -> Result<(), StoreError> {
    let value = Bytes::from(vec![u8::try_from(number % 256).unwrap(); 1024]);
    ready(store.multi(vec![Op::set("/node", value, number)])).map(drop)
}

/// A store whose node has been set this many times.
fn grown(disk: &FaultyDisk, times: i32) -> EmbeddedStore {
    let store = open(disk);
    ready(store.multi(vec![Op::create("/node", "")])).unwrap();
    for number in 0..times {
        set(&store, number).unwrap();
    }
    store
}

/// The total size of all journals.
fn size(disk: &FaultyDisk) -> u64 {
    let size =
        |name: &str| disk.open(&Path::new(DIR).join(name), OpenMode::Read).unwrap().len().unwrap();
    disk.list(Path::new(DIR)).unwrap().iter().map(|entry| size(&entry.name)).sum()
}

#[test]
fn a_transaction_without_space_uses_that_of_earlier_transactions() {
    for side in [".journal", ".mirror"] {
        let disk = disk();
        let store = grown(&disk, 100);
        let before = size(&disk);
        disk.inject(Fault::new(Operation::Write, Failure::NoSpace).on(side));
        set(&store, 100).unwrap();
        assert!(size(&disk) < before / 10, "{side}");
        drop(store);
        let node = ready(open(&disk).get("/node")).unwrap().unwrap();
        assert_eq!((node.version, node.value[0]), (101, 100));
    }
}

#[test]
fn without_any_space_a_transaction_is_refused_and_the_journal_stays_usable() {
    let disk = disk();
    let store = grown(&disk, 100);
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).for_ever());
    for _ in 0..3 {
        assert!(matches!(set(&store, 100), Err(StoreError::Io { .. })));
    }
    disk.clear_faults();
    set(&store, 100).unwrap();
    drop(store);
    assert_eq!(ready(open(&disk).get("/node")).unwrap().unwrap().version, 101);
}

#[test]
fn a_journal_on_a_full_disk_stays_short() {
    let disk = disk();
    disk.set_free_bytes(Some(0));
    let store = grown(&disk, 1_000);
    assert!(size(&disk) < 2 * 80 * 1024, "{} bytes", size(&disk));
    drop(store);
    assert_eq!(ready(open(&disk).get("/node")).unwrap().unwrap().version, 1_000);
}
