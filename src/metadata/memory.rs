//! A store in memory: many sessions, and faults on request.
//!
//! Handles of several sessions share one tree. A test cuts a session off, lets the store end it, or
//! loses a request or its answer, as a network between a broker and an ensemble does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::io::Clock;
use crate::metadata::store::{
    Event, LocalSession, LocalSessions, Node, Op, OpResult, SessionError, SessionId, Store,
    StoreError, StoreFuture, Watch,
};
use crate::metadata::tree::{Change, Tree};

/// The maximum size of a transaction, which is ZooKeeper's default.
const TRANSACTION_BYTES_MAX: usize = 1024 * 1024;

/// The message of a call that the network loses. The caller learns neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The transaction is not executed.
    Request,
    /// The transaction is executed.
    Response,
}

/// A session on a store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    session: Arc<LocalSession>,
    link: Mutex<Link>,
}

/// The state that the sessions share.
#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    tree: Mutex<Tree>,
    sessions: LocalSessions,
}

/// The connection of a session to the store.
#[derive(Debug, Default)]
struct Link {
    is_cut: bool,
    /// True if the store has ended the session while it was cut off.
    has_expired: bool,
    /// Messages lost by the transactions to come, in order.
    lost: Vec<Lost>,
    heard: Duration,
}

impl MemoryStore {
    /// An empty store with a first session.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (tree, sessions) = (Mutex::new(Tree::new()), LocalSessions::default());
        Self::of(Arc::new(Shared { clock, tree, sessions }))
    }

    /// Another session on the same store.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    fn of(shared: Arc<Shared>) -> Self {
        let (session, heard) = (shared.sessions.open(), shared.clock.monotonic());
        Self { shared, session, link: Mutex::new(Link { heard, ..Link::default() }) }
    }

    /// Cuts the session off: calls fail, and its watches miss what happens.
    pub fn disconnect(&self) {
        locked(&self.link).is_cut = true;
        self.session.set_cut_off(true);
        self.session.publish(&Event::SessionLost);
    }

    /// Lets the session reach the store again; it learns then that it has expired, if it has.
    pub fn reconnect(&self) {
        let mut link = locked(&self.link);
        link.is_cut = false;
        self.session.set_cut_off(false);
        if link.has_expired {
            self.session.end();
        } else {
            self.session.publish(&Event::Resync);
        }
    }

    /// Has the store end the session, as after its time-out.
    pub fn expire(&self) {
        let mut link = locked(&self.link);
        link.has_expired = true;
        self.shared.remove_ephemerals(self.session.id);
        if !link.is_cut {
            self.session.end();
        }
    }

    /// Loses a message of the next transaction for which none has been named yet.
    pub fn lose(&self, lost: Lost) {
        locked(&self.link).lost.push(lost);
    }

    /// Returns an error unless the store answers this session.
    fn reach(&self) -> Result<(), StoreError> {
        self.connect()?;
        self.session.check()
    }

    /// Returns an error if the session is cut off.
    fn connect(&self) -> Result<(), StoreError> {
        let mut link = locked(&self.link);
        if link.is_cut {
            let (servers, reason) = ("memory".to_owned(), "cut off by the test".to_owned());
            return Err(SessionError::Unreachable { servers, reason }.into());
        }
        link.heard = self.shared.clock.monotonic();
        Ok(())
    }

    /// The message that the network loses of the next transaction, if any.
    fn lost(&self) -> Option<Lost> {
        let mut link = locked(&self.link);
        (!link.lost.is_empty()).then(|| link.lost.remove(0))
    }

    fn execute(&self, ops: Vec<Op>) -> Result<Vec<OpResult>, StoreError> {
        let (bytes, limit) = (ops.iter().map(Op::size).sum(), TRANSACTION_BYTES_MAX);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        self.reach()?;
        let lost = self.lost();
        if lost == Some(Lost::Request) {
            return Err(SessionError::OutcomeUnknown.into());
        }
        let results = self.shared.commit(|tree, txn| tree.plan(ops, txn, self.session.id));
        if lost == Some(Lost::Response) {
            return Err(SessionError::OutcomeUnknown.into());
        }
        results
    }
}

impl Shared {
    /// Plans a transaction, shows its changes, and reports them.
    fn commit<T>(
        &self,
        plan: impl FnOnce(&Tree, i64) -> Result<(Vec<Change>, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut tree = locked(&self.tree);
        let txn = tree.last_txn + 1;
        let (changes, planned) = plan(&tree, txn)?;
        if !changes.is_empty() {
            let paths = changes.iter().map(Change::path).map(str::to_owned).collect();
            tree.apply(txn, changes);
            self.sessions.publish(&Event::Changed(paths));
        }
        Ok(planned)
    }

    fn remove_ephemerals(&self, session: SessionId) {
        let removed = self.commit(|tree, _| Ok((tree.removals_of(session), ())));
        assert!(removed.is_ok(), "removals are never refused");
    }
}

impl Store for MemoryStore {
    fn session(&self) -> SessionId {
        self.session.id
    }

    fn last_heard(&self) -> Option<Duration> {
        Some(locked(&self.link).heard)
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            self.connect()?;
            Ok(Arc::new(self.another()) as Arc<dyn Store>)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.reach()?;
            self.expire();
            Ok(())
        })
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        Box::pin(async move {
            self.reach()?;
            let tree = locked(&self.shared.tree);
            Ok(paths.iter().map(|path| tree.get(path)).collect())
        })
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move {
            self.reach()?;
            Ok(locked(&self.shared.tree).children(path))
        })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(async move {
            self.reach()?;
            Ok(locked(&self.shared.tree).snapshot(path))
        })
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(async move { self.execute(ops) })
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        Box::pin(async move {
            self.reach()?;
            Ok(self.session.watch(subtrees))
        })
    }
}

/// Every statement leaves the state consistent, so a poisoned lock is harmless.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
