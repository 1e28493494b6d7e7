//! The connection of one node to the metadata store, through all its sessions and processes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::metadata::{MemoryStore, Node, Op, OpResult, SessionId, Store, StoreFuture, Watch};

/// A reason why a node cannot reach the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outage {
    /// The process has ended.
    Ended,
    /// The process is paused.
    Paused,
    /// No server of the store answers.
    StoreLost,
}

/// The connection of a node to the store.
#[derive(Debug, Default)]
pub(super) struct StoreLink {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The latest session.
    session: Option<Arc<MemoryStore>>,
    outages: BTreeSet<Outage>,
}

/// A session of a node. Its successor becomes the latest session of the node.
#[derive(Debug)]
struct Session {
    store: Arc<MemoryStore>,
    link: Arc<StoreLink>,
}

impl StoreLink {
    /// The first session of a process of the node.
    pub(super) fn begin(self: &Arc<Self>, store: MemoryStore) -> Arc<dyn Store> {
        let store = Arc::new(store);
        let mut state = self.state();
        state.outages.remove(&Outage::Ended);
        state.outages.remove(&Outage::Paused);
        if !state.outages.is_empty() {
            store.disconnect();
        }
        state.session = Some(Arc::clone(&store));
        Arc::new(Session { store, link: Arc::clone(self) })
    }

    /// The latest session.
    pub(super) fn session(&self) -> Option<Arc<MemoryStore>> {
        self.state().session.clone()
    }

    /// Cuts the node off from the store.
    pub(super) fn interrupt(&self, outage: Outage) {
        let mut state = self.state();
        if state.outages.is_empty()
            && let Some(session) = &state.session
        {
            session.disconnect();
        }
        state.outages.insert(outage);
    }

    /// Lets the node reach the store again, unless there is another outage.
    pub(super) fn restore(&self, outage: Outage) {
        let mut state = self.state();
        if state.outages.remove(&outage)
            && state.outages.is_empty()
            && let Some(session) = &state.session
        {
            session.reconnect();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every statement leaves the state consistent, so a poisoned lock is harmless.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Session {
    fn session(&self) -> SessionId {
        self.store.session()
    }

    fn last_heard(&self) -> Option<Duration> {
        self.store.last_heard()
    }

    fn session_timeout(&self) -> Option<Duration> {
        self.store.session_timeout()
    }

    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            let mut state = self.link.state();
            let store = Arc::new(self.store.successor()?);
            state.session = Some(Arc::clone(&store));
            let link = Arc::clone(&self.link);
            Ok(Arc::new(Self { store, link }) as Arc<dyn Store>)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.store.close()
    }

    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>> {
        self.store.read(paths)
    }

    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.store.children(path)
    }

    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>> {
        self.store.snapshot(path)
    }

    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>> {
        self.store.multi(ops)
    }

    fn at_proven_end(&self, op: Op) {
        self.store.at_proven_end(op);
    }

    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch> {
        self.store.watch(subtrees)
    }
}
