//! A store in memory: many sessions, and faults on request.
//!
//! Handles of several sessions share one tree. A test cuts a session off, lets the store end it, or
//! loses or delays a request or its answer, as a network between a broker and an ensemble does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::io::Clock;
use crate::metadata::store::{
    Event, LocalSession, LocalSessions, Node, Op, OpResult, SessionError, SessionId, Store,
    StoreError, StoreFuture, Watch,
};
use crate::metadata::tree::{Change, Tree};

/// The maximum size of a transaction, which is ZooKeeper's default.
const TRANSACTION_BYTES_MAX: usize = 1024 * 1024;

/// The message of a call that the network loses. The caller cannot tell which one was lost.
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
    /// True while the answers to transactions are under way.
    withheld: watch::Sender<bool>,
}

/// The state that the sessions share.
#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    session_timeout: Duration,
    tree: Mutex<Tree>,
    sessions: LocalSessions,
}

/// A change of the store between two calls of a session.
#[derive(Debug)]
enum Interruption {
    /// The store ends another session.
    End(Arc<MemoryStore>),
    /// Another session executes a transaction.
    Write(Vec<Op>),
}

/// The connection of a session to the store.
#[derive(Debug, Default)]
struct Link {
    is_cut: bool,
    /// The nodes as the server of this session knows them, if it has lost the other servers.
    outdated: Option<Tree>,
    /// True if the store has ended the session while it was cut off.
    has_expired: bool,
    /// The messages that the next transactions lose, in order.
    lost: Vec<Lost>,
    /// The interruption that comes just before a later call of this session, and the number of
    /// calls up to that call, which is included.
    interruption: Option<(usize, Interruption)>,
    /// The operation that notes the end of the process.
    at_end: Option<Op>,
    heard: Duration,
}

impl MemoryStore {
    /// The time-out of the sessions by default.
    pub const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

    /// An empty store with a first session.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_timeout(clock, Self::SESSION_TIMEOUT)
    }

    /// An empty store with a first session, whose sessions have this time-out. No clock enforces it
    /// here: the caller lets them expire.
    pub fn with_timeout(clock: Arc<dyn Clock>, session_timeout: Duration) -> Self {
        let (tree, sessions) = (Mutex::new(Tree::new()), LocalSessions::default());
        Self::of(Arc::new(Shared { clock, session_timeout, tree, sessions }))
    }

    /// Another session on the same store.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::of(Arc::clone(&self.shared))
    }

    /// The session that follows this one.
    ///
    /// # Errors
    /// If the store cannot be reached.
    pub fn successor(&self) -> Result<Self, StoreError> {
        self.connect()?;
        Ok(self.another())
    }

    fn of(shared: Arc<Shared>) -> Self {
        let (session, heard) = (shared.sessions.open(), shared.clock.monotonic());
        let link = Mutex::new(Link { heard, ..Link::default() });
        Self { shared, session, link, withheld: watch::Sender::new(false) }
    }

    /// Cuts the session off: calls fail, and its watches miss all changes.
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

    /// Leaves the session with a server that has lost contact with the others. The server answers
    /// reads from its present nodes, executes nothing, and does not learn that the session ends.
    pub fn lose_quorum(&self) {
        locked(&self.link).outdated = Some(locked(&self.shared.tree).clone());
        self.session.set_cut_off(true);
    }

    /// Delays the answers to transactions until `deliver_answers`.
    pub fn withhold_answers(&self) {
        self.withheld.send_replace(true);
    }

    /// Delivers the answers that were withheld, and all later ones at once.
    pub fn deliver_answers(&self) {
        self.withheld.send_replace(false);
    }

    /// Has the store end the session, as after its time-out.
    pub fn expire(&self) {
        let mut link = locked(&self.link);
        link.has_expired = true;
        self.shared.remove_ephemerals(self.session.id);
        if !link.is_cut && link.outdated.is_none() {
            self.session.end();
        }
    }

    /// Notes that the process of the session has ended, and ends the session, as a guard does.
    pub fn prove_end(&self) {
        if let Some(op) = locked(&self.link).at_end.take() {
            // The operation is refused if the successor of the process has registered already.
            let _ = self.shared.commit(|tree, txn| tree.plan(vec![op], txn, self.session.id));
        }
        self.expire();
    }

    /// Loses a message of the next transaction for which no loss has been requested yet.
    pub fn lose(&self, lost: Lost) {
        locked(&self.link).lost.push(lost);
    }

    /// Has the store end another session just before the `nth` call of this one from now on.
    pub fn expire_before_call(&self, nth: usize, other: Arc<Self>) {
        locked(&self.link).interruption = Some((nth, Interruption::End(other)));
    }

    /// Has another session execute a transaction just before the `nth` call of this one from now
    /// on.
    pub fn write_before_call(&self, nth: usize, ops: Vec<Op>) {
        locked(&self.link).interruption = Some((nth, Interruption::Write(ops)));
    }

    /// Returns an error unless the store answers this session.
    fn reach(&self) -> Result<(), StoreError> {
        match self.interruption() {
            Some(Interruption::End(other)) => other.expire(),
            Some(Interruption::Write(ops)) => {
                let written = self.shared.commit(|tree, txn| tree.plan(ops, txn, SessionId::PAST));
                assert!(written.is_ok(), "{written:?} to a transaction of another session");
            }
            None => {}
        }
        self.connect()?;
        self.session.check()
    }

    /// The interruption that comes before this call, if any.
    fn interruption(&self) -> Option<Interruption> {
        let mut link = locked(&self.link);
        let (calls, _) = link.interruption.as_mut()?;
        *calls = calls.saturating_sub(1);
        if *calls > 0 {
            return None;
        }
        link.interruption.take().map(|(_, interruption)| interruption)
    }

    /// Returns an error if the session is cut off.
    fn connect(&self) -> Result<(), StoreError> {
        let mut link = locked(&self.link);
        if link.is_cut {
            return Err(unreachable("cut off"));
        }
        link.heard = self.shared.clock.monotonic();
        Ok(())
    }

    /// Reads the nodes as the server of this session knows them.
    fn reading<T>(&self, read: impl FnOnce(&Tree) -> T) -> Result<T, StoreError> {
        self.reach()?;
        let link = locked(&self.link);
        Ok(match &link.outdated {
            Some(outdated) => read(outdated),
            None => read(&locked(&self.shared.tree)),
        })
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
        if locked(&self.link).outdated.is_some() {
            return Err(unreachable("the server has lost the others"));
        }
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

fn unreachable(reason: &str) -> StoreError {
    SessionError::Unreachable { servers: "memory".to_owned(), reason: reason.to_owned() }.into()
}

impl Shared {
    /// Plans a transaction, applies its changes, and reports them.
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

    fn session_timeout(&self) -> Option<Duration> {
        Some(self.shared.session_timeout)
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move { Ok(Arc::new(self.successor()?) as Arc<dyn Store>) })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.reach()?;
            self.expire();
            Ok(())
        })
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        Box::pin(
            async move { self.reading(|tree| paths.iter().map(|path| tree.get(path)).collect()) },
        )
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move { self.reading(|tree| tree.children(path)) })
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        Box::pin(async move { self.reading(|tree| tree.snapshot(path)) })
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        Box::pin(async move {
            let executed = self.execute(ops);
            // Fails only if the sender is gone, and `self` holds it.
            let _ = self.withheld.subscribe().wait_for(|withheld| !withheld).await;
            executed
        })
    }

    fn at_proven_end(&self, op: Op) {
        locked(&self.link).at_end = Some(op);
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        Box::pin(async move {
            self.reach()?;
            Ok(self.session.watch(subtrees))
        })
    }
}

/// Locks a mutex. Every statement leaves the state consistent, so a poisoned lock is harmless.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
