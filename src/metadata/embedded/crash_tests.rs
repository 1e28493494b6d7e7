//! The embedded store on a disk that fails at any call and then loses power.
//!
//! After each accident the store is opened again and must hold every acknowledged transaction and
//! none that was refused; the one whose outcome was unknown may be there whole or not at all.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::io::faulty::{Failure, Fault, FaultyDisk, Operation};
use crate::io::{Disk, MemoryDisk, SeededRandom};
use crate::metadata::embedded::EmbeddedStore;
use crate::metadata::{Node, Op, OpResult, Store, StoreError};

const DIR: &str = "/data/metadata";
/// Small, so that a journal is replaced every few transactions.
const GROWTH: u64 = 600;
const TRANSACTIONS: u32 = 24;

type Nodes = Vec<(String, Node)>;

fn open(disk: &FaultyDisk) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open_with_growth(Arc::new(disk.clone()), Path::new(DIR), GROWTH)
}

fn multi(store: &EmbeddedStore, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
    ready(store.multi(ops))
}

fn nodes(store: &EmbeddedStore) -> Nodes {
    ready(store.snapshot("/")).unwrap()
}

/// The embedded store's futures are ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match Box::pin(future).as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the embedded store waited"),
    }
}

/// The `step`th transaction: two nodes written together, and now and then two removed.
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

/// What must and what may be found after an accident.
#[derive(Default)]
struct Outcome {
    acknowledged: Nodes,
    unknown: Option<Nodes>,
    last_txn: i64,
}

/// Runs all transactions until the store has failed.
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
            Err(StoreError::Failed(_)) => {
                assert_eq!(nodes(store), before, "what was not durable was shown");
                outcome.unknown = Some(with(&before, &ops));
                let again = multi(store, vec![Op::create("/again", "")]);
                assert!(matches!(again, Err(StoreError::Failed(_))), "{again:?}");
                return;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Io { .. }), "{error}");
                assert_eq!(nodes(store), before, "a refused transaction was shown");
            }
        }
    }
}

/// What the nodes would be with these operations; ids of transactions are compared elsewhere.
fn with(before: &Nodes, ops: &[Op]) -> Nodes {
    let mut nodes = before.clone();
    for op in ops {
        let found = nodes.iter().position(|(path, _)| path == op.path());
        match (op, found) {
            (Op::Create { path, value, .. }, None) => {
                let created = i64::MAX;
                nodes.push((path.clone(), Node { value: value.clone(), version: 0, created }));
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

/// Opens the store after an accident and compares.
fn check(disk: &FaultyDisk, outcome: &Outcome, what: &str) {
    let store = open(disk).unwrap_or_else(|error| panic!("{what}: {error}: {error:?}"));
    let found = nodes(&store);
    let nothing = vec![("/".to_owned(), found[0].1.clone())];
    let acknowledged =
        if outcome.acknowledged.is_empty() { &nothing } else { &outcome.acknowledged };
    let expected = [Some(acknowledged), outcome.unknown.as_ref()];
    assert!(
        expected.into_iter().flatten().any(|nodes| contents(nodes) == contents(&found)),
        "{what}: found {found:#?}\nacknowledged {acknowledged:#?}"
    );
    let results = multi(&store, vec![Op::create("/afterwards", "")]).unwrap();
    let [OpResult::Created { created, .. }] = results.as_slice() else { panic!("{results:?}") };
    assert!(*created > outcome.last_txn, "{what}: transaction {created} served twice");
    drop(store);
    let again = nodes(&open(disk).unwrap());
    assert_eq!(again.len(), found.len() + 1, "{what}: opened twice, it differs");
}

fn accident(fault: Option<Fault>, seed: u64, what: &str) {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), seed);
    disk.set_write_back(3);
    if let Some(fault) = fault {
        disk.inject(fault);
    }
    let mut outcome = Outcome::default();
    if let Ok(store) = open(&disk) {
        run(&store, &mut outcome);
    }
    disk.clear_faults();
    let disk = disk.crash(seed).unwrap();
    check(&disk, &outcome, what);
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

/// How often the whole run makes each call.
fn calls(operation: Operation) -> u64 {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 0);
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
                accident(Some(fault.clone()), nth, &format!("{fault:?}"));
                let for_ever = fault.for_ever();
                accident(Some(for_ever.clone()), nth, &format!("{for_ever:?}"));
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_moment_loses_no_acknowledged_transaction_and_halves_none() {
    let writes = calls(Operation::Write);
    let syncs = calls(Operation::SyncData);
    for seed in 0..400 {
        let mut random = SeededRandom::new(seed);
        let cut = if seed % 2 == 0 {
            Fault::new(Operation::Write, Failure::ShortWrite(7)).at_call(1 + random.below(writes))
        } else {
            Fault::new(Operation::SyncData, Failure::InputOutput).at_call(1 + random.below(syncs))
        };
        accident(Some(cut), seed, &format!("seed {seed}"));
        accident(None, seed, &format!("no fault, seed {seed}"));
    }
}

#[test]
fn space_that_returns_finds_the_store_at_work() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
    let store = open(&disk).unwrap();
    disk.inject(Fault::new(Operation::Write, Failure::NoSpace).for_ever());
    let refused = multi(&store, vec![Op::create("/a", "1")]);
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
    disk.clear_faults();
    multi(&store, vec![Op::create("/a", "2")]).unwrap();
    drop(store);
    assert_eq!(ready(open(&disk).unwrap().get("/a")).unwrap().unwrap().value, "2");
}

#[test]
fn a_bit_flipped_under_an_acknowledged_transaction_is_named_and_nothing_is_cut() {
    let memory = MemoryDisk::default();
    let disk = FaultyDisk::new(Arc::new(memory.clone()), 1);
    let store = EmbeddedStore::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
    run(&store, &mut Outcome::default());
    drop(store);
    let disk = disk.crash(1).unwrap();
    let journal = disk.list(Path::new(DIR)).unwrap().remove(0).name;
    let path = Path::new(DIR).join(journal);
    let length = memory.open(&path, crate::io::OpenMode::Read).unwrap().len().unwrap();
    disk.flip_bit(&path, length / 2, 3).unwrap();
    for _ in 0..2 {
        let error = EmbeddedStore::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap_err();
        let StoreError::Damaged { file, position, .. } = &error else { panic!("{error}") };
        assert_eq!(file, &path);
        assert!(*position <= length / 2 && *position > length / 4, "{position} of {length}");
    }
    assert_eq!(memory.open(&path, crate::io::OpenMode::Read).unwrap().len().unwrap(), length);
}

#[test]
fn ephemeral_nodes_go_with_the_process_and_their_transactions_do_not_come_again() {
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), 1);
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
