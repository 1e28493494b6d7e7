//! The embedded store as an implementation of `Store`.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::io::{Disk, is_out_of_space};
use crate::metadata::embedded::journal::Journal;
use crate::metadata::store::{
    Event, LocalSession, LocalSessions, Node, Op, OpResult, SessionId, Store, StoreError,
    StoreFuture, Watch,
};
use crate::metadata::tree::{Change, Tree};

/// The maximum size of a transaction, which is ZooKeeper's default.
const TRANSACTION_BYTES_MAX: usize = 1024 * 1024;
/// The number of bytes appended to a journal before a snapshot replaces it.
const JOURNAL_GROWTH: u64 = 16 * 1024 * 1024;

/// A session on a store in one directory of one process.
///
/// Its futures complete at once, but a write blocks the calling thread until the journal is
/// flushed, so it belongs on the control thread. Reads are served from memory and never wait for
/// the disk.
#[derive(Debug)]
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    session: Arc<LocalSession>,
}

/// The state that the sessions share.
#[derive(Debug)]
struct Shared {
    /// Held during a whole write. Lock order: before `tree`.
    journal: Mutex<Journal>,
    /// Durable contents only.
    tree: RwLock<Tree>,
    sessions: LocalSessions,
}

impl EmbeddedStore {
    /// Opens the store in `dir`, which is created if absent, with a first session. The caller owns
    /// the data directory around `dir`: it must exist durably and be locked.
    ///
    /// # Errors
    /// `Damaged` if durable contents cannot be read, `JournalMissing` if `dir` exists without a
    /// journal; nothing is changed then. Or the error of the disk.
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
        let (journal, tree) = (Mutex::new(journal), RwLock::new(tree));
        let sessions = LocalSessions::default();
        let session = sessions.open();
        Ok(Self { shared: Arc::new(Shared { journal, tree, sessions }), session })
    }

    fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
        let (bytes, limit) = (ops.iter().map(Op::size).sum(), TRANSACTION_BYTES_MAX);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let mut journal = self.shared.journal()?;
        self.session.check()?;
        let txn = self.shared.tree().last_txn + 1;
        let (changes, results) = self.shared.tree().plan(ops, txn, self.session.id)?;
        self.shared.commit(&mut journal, txn, changes)?;
        Ok(results)
    }

    fn end(&self) -> Result<(), StoreError> {
        let mut journal = self.shared.journal()?;
        let (txn, removals) = {
            let tree = self.shared.tree();
            (tree.last_txn + 1, tree.removals_of(self.session.id))
        };
        self.shared.commit(&mut journal, txn, removals)?;
        self.session.end();
        Ok(())
    }

    /// The nodes, for a session that has not ended.
    fn tree(&self) -> Result<RwLockReadGuard<'_, Tree>, StoreError> {
        self.session.check()?;
        Ok(self.shared.tree())
    }
}

impl Shared {
    /// Makes the changes of a transaction durable, then applies and reports them.
    fn commit(
        &self,
        journal: &mut Journal,
        txn: i64,
        changes: Vec<Change>,
    ) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
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
        self.sessions.publish(&Event::Changed(paths));
        if let Err(error) = journal.replace_if_long(&self.tree()) {
            tracing::warn!(%error, "the metadata journal was not replaced by a snapshot");
            self.publish_failure(&error);
        }
        Ok(())
    }

    /// The journal, if it still takes transactions.
    fn journal(&self) -> Result<MutexGuard<'_, Journal>, StoreError> {
        let journal = self.journal.lock().unwrap_or_else(|poisoned| {
            let mut journal = poisoned.into_inner();
            // A transaction that the tree does not show may be durable. The next transaction would
            // reuse its id, and a journal with two records of one id cannot be opened.
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
            self.sessions.publish(&Event::SessionExpired);
        }
    }
}

impl Store for EmbeddedStore {
    fn session(&self) -> SessionId {
        self.session.id
    }

    fn last_heard(&self) -> Option<Duration> {
        None
    }

    fn session_timeout(&self) -> Option<Duration> {
        None
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            // A failed journal takes no more sessions either.
            drop(self.shared.journal()?);
            let (shared, session) = (Arc::clone(&self.shared), self.shared.sessions.open());
            Ok(Arc::new(Self { shared, session }) as Arc<dyn Store>)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.end() })
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        Box::pin(async move {
            let tree = self.tree()?;
            Ok(paths.iter().map(|path| tree.get(path)).collect())
        })
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move { Ok(self.tree()?.children(path)) })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(async move { Ok(self.tree()?.snapshot(path)) })
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(async move { self.execute(ops) })
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        Box::pin(async move {
            self.session.check()?;
            Ok(self.session.watch(subtrees))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::io::{MemoryDisk, OpenMode};

    const DIR: &str = "/data/metadata";

    fn create(store: &EmbeddedStore, path: &str) -> Result<Vec<OpResult>, StoreError> {
        store.execute(vec![Op::create(path, "")])
    }

    #[test]
    fn a_transaction_is_refused_once_a_file_of_the_journal_or_its_directory_has_lost_its_name() {
        let journal = Path::new("/data/metadata/00000000000000000001.journal");
        let mirror = Path::new("/data/metadata/00000000000000000001.mirror");
        for lost in [journal, mirror, Path::new(DIR), Path::new("/data")] {
            for is_replaced in [false, true] {
                let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
                let store = EmbeddedStore::open(Arc::clone(&disk), Path::new(DIR)).unwrap();
                create(&store, "/a").unwrap();
                disk.rename(lost, Path::new("/moved")).unwrap();
                if is_replaced {
                    disk.create_dir(Path::new(DIR)).unwrap();
                    disk.open(journal, OpenMode::Create).unwrap();
                    disk.open(mirror, OpenMode::Create).unwrap();
                }
                let refused = create(&store, "/b");
                assert!(matches!(refused, Err(StoreError::Failed { .. })), "{lost:?}: {refused:?}");
                assert!(create(&store, "/c").is_err(), "{lost:?}");
            }
        }
    }

    #[test]
    fn a_panic_behind_an_append_stops_the_store_and_leaves_a_journal_that_opens() {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::default());
        let store = EmbeddedStore::open(Arc::clone(&disk), Path::new(DIR)).unwrap();
        let watch = store.session.watch(&["/"]);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut journal = store.shared.journal().unwrap();
            let tree = store.shared.tree();
            let txn = tree.last_txn + 1;
            let ops = vec![Op::create("/a", "")];
            let (changes, _) = tree.plan(ops, txn, SessionId::PAST).unwrap();
            journal.append(txn, &changes).unwrap();
            panic!("before the tree shows the transaction");
        }));
        assert!(panicked.is_err());
        let refused = create(&store, "/b");
        let reopened = EmbeddedStore::open(disk, Path::new(DIR)).unwrap();
        assert!(reopened.shared.tree().get("/a").is_some());
        assert!(matches!(refused, Err(StoreError::Failed { .. })), "{refused:?}");
        assert_eq!(watch.try_next(), Some(Event::SessionExpired));
        assert!(matches!(create(&store, "/c"), Err(StoreError::Failed { .. })));
        create(&reopened, "/b").unwrap();
    }
}
