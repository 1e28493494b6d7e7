//! The embedded store on a disk that fails at any call and then loses power.
//!
//! After each failure the store is reopened. It must hold every acknowledged transaction and no
//! refused one; a transaction with an unknown outcome may be present entirely or not at all.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, File, MemoryDisk, OpenMode, SeededRandom, read_exact_at, write_all_at};
use crate::metadata::embedded::EmbeddedStore;
use crate::metadata::embedded::codec::encode_record;
use crate::metadata::tree::{Change, Entry};
use crate::metadata::{Node, Op, OpResult, Store, StoreError};
use crate::types::seeds;

const DIR: &str = "/data/metadata";
/// The growth after which a journal is replaced: small, so that this happens often.
const GROWTH: u64 = 600;
const TRANSACTIONS: u32 = 24;

type Nodes = Vec<(String, Node)>;

/// A disk with a durable data directory, whose creation is not the store's task.
fn disk_with(seed: u64) -> FaultyDisk {
    let memory = MemoryDisk::default();
    memory.create_dir(Path::new("/data")).unwrap();
    FaultyDisk::new(Arc::new(memory), seed)
}

fn open(disk: &FaultyDisk) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open_with_growth(Arc::new(disk.clone()), Path::new(DIR), GROWTH)
}

fn multi(store: &EmbeddedStore, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
    ready(store.multi(ops))
}

fn nodes(store: &EmbeddedStore) -> Nodes {
    ready(store.snapshot("/")).unwrap()
}

/// Polls a future of the embedded store, which completes at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match Box::pin(future).as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the embedded store waited"),
    }
}

/// The transaction number `step`: it writes two nodes, and now and then removes two.
fn transaction(store: &EmbeddedStore, step: u32) -> Vec<Op> {
    let value = |name: &str| Bytes::from(format!("{name}-{step}-").repeat(8));
    let mut ops = Vec::new();
    for name in ["left", "right"] {
        let path = format!("/{name}-{}", step % 5);
        match ready(store.get(&path)).unwrap() {
            None => ops.push(Op::create(path, value(name))),
            Some(node) if step % 7 == 6 => ops.push(Op::delete(path, node.version)),
            Some(node) => ops.push(Op::set(path, value(name), node.version)),
        }
    }
    ops
}

/// The nodes after all acknowledged transactions, and the nodes after a further transaction with an
/// unknown outcome. One of the two must be found after a failure.
#[derive(Default)]
struct Outcome {
    acknowledged: Nodes,
    unknown: Option<Nodes>,
    last_txn: i64,
}

/// Executes all transactions until the store has failed.
fn run(store: &EmbeddedStore, outcome: &mut Outcome) {
    for step in 0..TRANSACTIONS {
        let ops = transaction(store, step);
        let before = nodes(store);
        match multi(store, ops.clone()) {
            Ok(results) => {
                outcome.acknowledged = nodes(store);
                let created = results.iter().filter_map(|result| match result {
                    OpResult::Created { created, .. } => Some(*created),
                    _ => None,
                });
                outcome.last_txn = created.max().unwrap_or(0).max(outcome.last_txn);
            }
            Err(StoreError::Failed { .. }) => {
                assert_eq!(nodes(store), before, "what was not durable was shown");
                outcome.unknown = Some(with(&before, &ops));
                let again = multi(store, vec![Op::create("/again", "")]);
                assert!(matches!(again, Err(StoreError::Failed { .. })), "{again:?}");
                return;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Io { .. }), "{error}");
                assert_eq!(nodes(store), before, "a refused transaction was shown");
            }
        }
    }
}

/// The nodes after these operations; transaction ids are compared elsewhere.
fn with(before: &Nodes, ops: &[Op]) -> Nodes {
    let mut nodes = before.clone();
    for op in ops {
        let found = nodes.iter().position(|(path, _)| path == op.path());
        match (op, found) {
            (Op::Create { path, value, .. }, None) => {
                let value = value.clone();
                let node = Node { value, version: 0, created: i64::MAX, owner: None };
                nodes.push((path.clone(), node));
            }
            (Op::Set { value, version, .. }, Some(at)) => {
                nodes[at].1.value = value.clone();
                nodes[at].1.version = version + 1;
            }
            (Op::Delete { .. }, Some(at)) => drop(nodes.remove(at)),
            _ => panic!("{op:?} does not fit"),
        }
    }
    nodes.sort_by(|a, b| a.0.cmp(&b.0));
    nodes
}

fn contents(nodes: &Nodes) -> Vec<(&String, &Bytes, i32)> {
    nodes.iter().map(|(path, node)| (path, &node.value, node.version)).collect()
}

impl Outcome {
    /// Checks that the nodes found are among the possible ones. From now on, exactly the nodes
    /// found are expected.
    fn confirm(&mut self, found: Nodes, what: &str) {
        let root = vec![found[0].clone()];
        let acknowledged = if self.acknowledged.is_empty() { &root } else { &self.acknowledged };
        let expected = [Some(acknowledged), self.unknown.as_ref()];
        assert!(
            expected.into_iter().flatten().any(|nodes| contents(nodes) == contents(&found)),
            "{what}: found {found:#?}\nacknowledged {acknowledged:#?}"
        );
        (self.acknowledged, self.unknown) = (found, None);
    }
}

/// Reopens the store after a failure and compares.
fn check(disk: &FaultyDisk, outcome: &mut Outcome, what: &str) {
    let store = open(disk).unwrap_or_else(|error| panic!("{what}: {error}: {error:?}"));
    outcome.confirm(nodes(&store), what);
    let results = multi(&store, vec![Op::create("/afterwards", "")]).unwrap();
    let [OpResult::Created { created, .. }] = results.as_slice() else { panic!("{results:?}") };
    assert!(*created > outcome.last_txn, "{what}: transaction {created} served twice");
    let before = nodes(&store);
    drop(store);
    assert_eq!(nodes(&open(disk).unwrap()), before, "{what}: opened twice, it differs");
}

/// One run per fault, each ended by a power cut.
fn accidents(faults: impl IntoIterator<Item = Option<Fault>>, seed: u64, what: &str) {
    let mut disk = disk_with(seed);
    disk.set_write_back(3);
    let mut outcome = Outcome::default();
    for fault in faults {
        if let Some(fault) = fault {
            disk.inject(fault);
        }
        if let Ok(store) = open(&disk) {
            outcome.confirm(nodes(&store), what);
            run(&store, &mut outcome);
        }
        disk.clear_faults();
        disk = disk.crash(seed).unwrap();
    }
    check(&disk, &mut outcome, what);
}

const OPERATIONS: &[Operation] = &[
    Operation::Open,
    Operation::Write,
    Operation::SetLen,
    Operation::SyncData,
    Operation::Rename,
    Operation::Remove,
    Operation::CreateDir,
    Operation::Look,
    Operation::SyncDir,
];

/// The number of calls of this kind during a whole run.
fn calls(operation: Operation) -> u64 {
    let disk = disk_with(0);
    run(&open(&disk).unwrap(), &mut Outcome::default());
    disk.calls(operation)
}

#[test]
fn a_failure_of_any_call_loses_no_acknowledged_transaction_and_halves_none() {
    assert!(calls(Operation::Rename) >= 3, "the journal was not replaced often enough");
    for operation in OPERATIONS {
        for nth in 1..=calls(*operation) {
            for failure in [Failure::InputOutput, Failure::NoSpace, Failure::ShortWrite(5)] {
                let fault = Fault::new(*operation, failure).at_call(nth);
                accidents([Some(fault.clone())], nth, &format!("{fault:?}"));
                let for_ever = fault.for_ever();
                accidents([Some(for_ever.clone())], nth, &format!("{for_ever:?}"));
            }
        }
    }
}

#[test]
fn one_power_cut_after_another_loses_no_acknowledged_transaction_and_halves_none() {
    for seed in seeds(400) {
        let mut random = SeededRandom::new(seed);
        let mut fault = || {
            let operation =
                OPERATIONS[usize::try_from(random.below(OPERATIONS.len() as u64)).unwrap()];
            let failure = match random.below(3) {
                0 => Failure::InputOutput,
                1 => Failure::NoSpace,
                _ => Failure::ShortWrite(7),
            };
            let fault = Fault::new(operation, failure).at_call(1 + random.below(30));
            Some(fault).filter(|_| random.below(4) > 0)
        };
        let faults = [fault(), fault(), fault(), fault()];
        accidents(faults.clone(), seed, &format!("seed {seed}: {faults:?}"));
    }
}

/// The only journal: the path of its primary file, and the bytes of both files.
fn journal(disk: &dyn Disk) -> (PathBuf, Vec<u8>) {
    let names = disk.list(Path::new(DIR)).unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
    let path = Path::new(DIR).join(&names[0].name);
    let bytes = bytes_of(disk, &path);
    assert_eq!(bytes_of(disk, &path.with_extension("mirror")), bytes);
    (path, bytes)
}

fn bytes_of(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    read_exact_at(&*file, &mut bytes, 0).unwrap();
    bytes
}

fn write(disk: &dyn Disk, path: &Path, bytes: &[u8], position: usize) -> Arc<dyn File> {
    let file = disk.open(path, OpenMode::Create).unwrap();
    write_all_at(&*file, &mut [IoSlice::new(bytes)], position as u64).unwrap();
    file
}

#[test]
fn a_transaction_that_a_killed_process_left_unflushed_stays_once_it_was_shown() {
    for seed in seeds(30) {
        let disk = disk_with(seed);
        multi(&open(&disk).unwrap(), vec![Op::create("/a", "1")]).unwrap();
        let (path, bytes) = journal(&disk);
        let entry = Entry::new(b"2"[..].into(), 2, None);
        let change = Change::Put("/b".to_owned(), entry);
        write(&disk, &path, &encode_record(2, [&change]), bytes.len());

        let shown = nodes(&open(&disk).unwrap());
        assert!(shown.iter().any(|(path, _)| path == "/b"));
        let disk = disk.crash(seed).unwrap();
        assert_eq!(nodes(&open(&disk).unwrap()), shown, "seed {seed}");
    }
}

#[test]
fn a_journal_whose_name_a_killed_process_left_unflushed_serves_only_once_it_is_durable() {
    for seed in seeds(30) {
        let disk = disk_with(seed);
        multi(&open(&disk).unwrap(), vec![Op::create("/a", "1")]).unwrap();
        let (path, bytes) = journal(&disk);
        let next = path.with_file_name("00000000000000000002.journal");
        let unfinished = path.with_file_name("00000000000000000002.journal.tmp");
        write(&disk, &unfinished, &bytes, 0).sync_data().unwrap();
        disk.rename(&unfinished, &next).unwrap();

        let store = open(&disk).unwrap();
        multi(&store, vec![Op::create("/b", "2")]).unwrap();
        let shown = nodes(&store);
        let disk = disk.crash(seed).unwrap();
        assert_eq!(nodes(&open(&disk).unwrap()), shown, "seed {seed}");
    }
}

#[test]
fn space_that_returns_finds_the_store_at_work() {
    let disk = disk_with(1);
    let store = open(&disk).unwrap();
    let before = journal(&disk);
    disk.inject(Fault::new(Operation::Write, Failure::ShortWrite(9)));
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).at_call(2).for_ever());
    let refused = multi(&store, vec![Op::create("/a", "1")]);
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
    assert_eq!(journal(&disk), before, "bytes of a refused transaction are left");
    disk.clear_faults();
    multi(&store, vec![Op::create("/a", "2")]).unwrap();
    drop(store);
    assert_eq!(ready(open(&disk).unwrap().get("/a")).unwrap().unwrap().value, "2");
}

#[test]
fn ephemeral_nodes_go_with_the_process_and_their_transactions_do_not_come_again() {
    let disk = disk_with(1);
    let create = |path: &str| vec![Op::create_ephemeral(path, "")];
    let first = multi(&open(&disk).unwrap(), create("/broker")).unwrap();
    let store = open(&disk).unwrap();
    assert_eq!(ready(store.get("/broker")).unwrap(), None);
    let second = multi(&store, create("/broker")).unwrap();
    let (OpResult::Created { created: first, .. }, OpResult::Created { created: second, .. }) =
        (&first[0], &second[0])
    else {
        panic!("{first:?} {second:?}")
    };
    assert!(second > first, "{second} after {first}");
}
