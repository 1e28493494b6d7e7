//! The embedded store as an implementation of `Store`.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use crate::io::{Disk, is_out_of_space};
use crate::metadata::embedded::journal::Journal;
use crate::metadata::store::{
    Event, Node, Op, OpResult, Store, StoreError, StoreFuture, Watch, Watchers,
};
use crate::metadata::tree::{Change, Tree};

/// The maximum size of a transaction, which is ZooKeeper's default.
const TRANSACTION_BYTES_MAX: usize = 1024 * 1024;
/// The number of bytes appended to a journal before a snapshot replaces it.
const JOURNAL_GROWTH: u64 = 16 * 1024 * 1024;

/// A store in one directory of one process.
///
/// Its futures complete at once, but a write blocks the calling thread for one flush of the disk,
/// so it belongs on the control thread. Reads are served from memory and never wait for the disk.
#[derive(Debug)]
pub struct EmbeddedStore {
    /// Held during a whole write. Lock order: before `tree`.
    journal: Mutex<Journal>,
    /// Durable contents only.
    tree: RwLock<Tree>,
    watchers: Watchers,
}

impl EmbeddedStore {
    /// Opens the store in `dir`, which is created if absent. The caller owns the data directory
    /// around `dir`: it must exist durably and be locked.
    ///
    /// # Errors
    /// `Damaged` if durable contents cannot be read; nothing is changed then.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, StoreError> {
        Self::open_with_growth(disk, dir, JOURNAL_GROWTH)
    }

    /// Like `open`, but the journal is replaced after `growth` bytes.
    pub(super) fn open_with_growth(
        disk: Arc<dyn Disk>,
        dir: &Path,
        growth: u64,
    ) -> Result<Self, StoreError> {
        let (journal, tree) = Journal::open(disk, dir, growth)?;
        let watchers = Watchers::default();
        Ok(Self { journal: Mutex::new(journal), tree: RwLock::new(tree), watchers })
    }

    fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
        let (bytes, limit) = (ops.iter().map(Op::size).sum(), TRANSACTION_BYTES_MAX);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let mut journal = self.journal()?;
        let txn = self.tree().last_txn + 1;
        let (changes, results) = self.tree().plan(ops, txn)?;
        if changes.is_empty() {
            return Ok(results);
        }
        let appended = match journal.append(txn, &changes) {
            Err(StoreError::Io { source, .. }) if is_out_of_space(&source) => {
                journal.append_replaced(&self.tree(), txn, &changes)
            }
            done => done,
        };
        appended.inspect_err(|error| self.publish_failure(error))?;
        let paths = changes.iter().map(Change::path).map(str::to_owned).collect();
        self.tree.write().unwrap_or_else(PoisonError::into_inner).apply(txn, changes);
        self.watchers.publish(&Event::Changed(paths));
        if let Err(error) = journal.replace_if_long(&self.tree()) {
            tracing::warn!(%error, "the metadata journal was not replaced by a snapshot");
            self.publish_failure(&error);
        }
        Ok(results)
    }

    /// The journal, if it still takes transactions.
    fn journal(&self) -> Result<MutexGuard<'_, Journal>, StoreError> {
        let journal = self.journal.lock().unwrap_or_else(|poisoned| {
            let mut journal = poisoned.into_inner();
            // A transaction may be durable that the tree does not show. The next would take its id
            // again, and a journal with two such records cannot be opened.
            self.publish_failure(&journal.fail_by_panic());
            journal
        });
        journal.check()?;
        Ok(journal)
    }

    fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish_failure(&self, error: &StoreError) {
        if matches!(error, StoreError::Failed { .. }) {
            self.watchers.publish(&Event::SessionExpired);
        }
    }
}

impl Store for EmbeddedStore {
    fn get<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Option<Node>> {
        Box::pin(async move { Ok(self.tree().get(path)) })
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move { Ok(self.tree().children(path)) })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(async move { Ok(self.tree().snapshot(path)) })
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(async move { self.execute(ops) })
    }

    fn watch(&self, path: &str) -> Watch {
        self.watchers.watch(path)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::io::MemoryDisk;

    const DIR: &str = "/data/metadata";

    fn create(store: &EmbeddedStore, path: &str) -> Result<Vec<OpResult>, StoreError> {
        store.execute(vec![Op::create(path, "")])
    }

    #[test]
    fn a_panic_behind_an_append_stops_the_store_and_leaves_a_journal_that_opens() {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
        let store = EmbeddedStore::open(Arc::clone(&disk), Path::new(DIR)).unwrap();
        let watch = store.watch("/");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut journal = store.journal().unwrap();
            let txn = store.tree().last_txn + 1;
            let (changes, _) = store.tree().plan(vec![Op::create("/a", "")], txn).unwrap();
            journal.append(txn, &changes).unwrap();
            panic!("before the tree shows the transaction");
        }));
        assert!(panicked.is_err());
        let refused = create(&store, "/b");
        let reopened = EmbeddedStore::open(disk, Path::new(DIR)).unwrap();
        assert!(reopened.tree().get("/a").is_some());
        assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
        assert_eq!(watch.try_next(), Some(Event::SessionExpired));
        assert!(matches!(create(&store, "/c"), Err(StoreError::Failed { .. })));
        create(&reopened, "/b").unwrap();
    }
}
