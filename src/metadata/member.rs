//! This broker as a member of the cluster: its registration in one session, and the lease that the
//! registration gives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::io::Clock;
use crate::metadata::image::{Incarnation, Membership};
use crate::metadata::lease::Lease;
use crate::metadata::store::{Op, SessionError, Store, StoreError};

/// The operations that note the end of an incarnation.
#[derive(Clone, Debug)]
pub(super) struct EndNotes {
    /// By the observer of the process, once the end is certain.
    pub(super) at_proven_end: Op,
    /// By the process itself when it stops.
    pub(super) at_stop: Op,
}

/// A registration of this broker.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) membership: Membership,
    pub(super) lease: Arc<Lease>,
    end_notes: Mutex<EndNotes>,
    /// The session of the registration.
    store: Arc<dyn Store>,
    /// The node of the registration.
    path: String,
    clock: Arc<dyn Clock>,
}

impl Member {
    /// A registration that was requested at `sent`, with the operations that note its end.
    pub(super) fn new(
        (membership, end_notes): (Membership, EndNotes),
        (store, path): (Arc<dyn Store>, String),
        clock: Arc<dyn Clock>,
        sent: Duration,
    ) -> Self {
        let lease = match store.session_timeout() {
            Some(timeout) => Lease::begin(Arc::clone(&clock), sent, timeout),
            None => Lease::unlimited(Arc::clone(&clock)),
        };
        let (lease, end_notes) = (Arc::new(lease), Mutex::new(end_notes));
        Self { membership, lease, end_notes, store, path, clock }
    }

    /// The operation that notes that this incarnation has stopped.
    pub(super) fn at_stop(&self) -> Op {
        self.end_notes.lock().unwrap_or_else(PoisonError::into_inner).at_stop.clone()
    }

    /// Replaces the operations that note the end of this incarnation, also for the observer of this
    /// process.
    pub(super) fn set_end_notes(&self, end_notes: EndNotes) {
        self.store.at_proven_end(end_notes.at_proven_end.clone());
        *self.end_notes.lock().unwrap_or_else(PoisonError::into_inner) = end_notes;
    }

    /// The operation that fails once this incarnation is not registered any more.
    ///
    /// # Errors
    /// Those of the store, and `NoNode` if the registration is gone.
    pub(super) async fn check(&self) -> Result<Op, StoreError> {
        Ok(Op::check(self.path.clone(), self.version().await?))
    }

    /// Renews the lease if the store confirms the registration.
    ///
    /// The transaction changes nothing, but most servers of an ensemble must agree on it, in one
    /// order with the end of the session. A read proves nothing, not even after a `sync`: a server
    /// that has lost the other servers, and does not know it yet, may answer the read.
    ///
    /// # Errors
    /// Those of the store, and `NoNode` if the registration is gone.
    pub(super) async fn renew_lease(&self) -> Result<(), StoreError> {
        let confirmed = self.confirm().await;
        if let Err(StoreError::Session(SessionError::Expired(_))) = confirmed {
            self.lease.end();
        }
        let sent = confirmed?;
        // Use the current time-out: a server to which the session has moved may grant less.
        if let Some(timeout) = self.store.session_timeout() {
            self.lease.renew(sent, timeout);
        }
        Ok(())
    }

    /// Has the store confirm the registration, and returns the time at which the request was sent.
    async fn confirm(&self) -> Result<Duration, StoreError> {
        let check = self.check().await?;
        let sent = self.clock.monotonic();
        self.store.multi(vec![check]).await?;
        // A check sees a version, but not that the node was deleted and created again.
        self.version().await?;
        Ok(sent)
    }

    /// The version of the registration's node.
    async fn version(&self) -> Result<i32, StoreError> {
        let node = self.store.get(&self.path).await?;
        let own = node.filter(|node| Incarnation(node.created) == self.membership.incarnation);
        own.map(|node| node.version).ok_or_else(|| StoreError::NoNode { path: self.path.clone() })
    }
}
