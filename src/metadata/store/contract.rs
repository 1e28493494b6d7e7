//! The interface of a store.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::metadata::store::{Op, OpResult, SessionId, StoreError, Watch};

/// The result of a store's calls: boxed, so that the trait is object-safe.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A node as read from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Bytes,
    /// The number of writes to the value since the node was created.
    pub version: i32,
    /// The transaction that created the node; it rises over the store's whole life, across
    /// restarts.
    pub created: i64,
    /// The session that owns the node, if it is ephemeral.
    pub owner: Option<SessionId>,
}

/// A session on a store of nodes.
///
/// A handle that is dropped without [`Store::close`] is a session without a client: a store of
/// several processes ends it after its time-out, and its ephemeral nodes with it.
pub trait Store: Send + Sync + Debug {
    /// The session of this handle.
    fn session(&self) -> SessionId;

    /// The time, on the monotonic clock, at which the latest request that the store has answered
    /// was sent. `None` if the store is part of this process, and so is never out of reach.
    fn last_heard(&self) -> Option<Duration>;

    /// The time after which the store ends the session of a client that is silent, as the store has
    /// granted it; `None` if the store is part of this process.
    fn session_timeout(&self) -> Option<Duration>;

    /// Opens another session on the same store.
    ///
    /// # Errors
    /// `Unreachable` if no server answers.
    fn new_session(&self) -> StoreFuture<'_, Arc<dyn Store>>;

    /// Ends the session. Its ephemeral nodes are gone on return, its watches report
    /// `SessionExpired`, and each later call is refused with `Expired`.
    fn close(&self) -> StoreFuture<'_, ()>;

    /// The nodes at these paths, in the same order; `None` for a node that does not exist. They may
    /// have been read at different moments, but none is older than any write or event that the
    /// caller has seen.
    fn read<'a>(&'a self, paths: &'a [String]) -> StoreFuture<'a, Vec<Option<Node>>>;

    /// The node at `path`, if it exists.
    fn get<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Option<Node>> {
        Box::pin(async move { Ok(self.read(&[path.to_owned()]).await?.pop().flatten()) })
    }

    /// The names of the children of `path`, sorted; empty if `path` does not exist.
    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// `path` and all its descendants, sorted by path, each read as by [`Store::read`].
    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>>;

    /// Executes `ops` atomically; results are in the same order.
    ///
    /// # Errors
    /// The error of the first operation that fails, with its path. After `OutcomeUnknown`, all
    /// operations have been executed or none; later reads show which.
    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>>;

    /// Sets the operation that an observer executes once the end of this process is proved, before
    /// it ends the session. Replaces the operation set before. Without such an observer, does
    /// nothing.
    fn at_proven_end(&self, op: Op) {
        drop(op);
    }

    /// Watches these nodes and their descendants, from this call on. They need not exist.
    fn watch<'a>(&'a self, subtrees: &'a [&'a str]) -> StoreFuture<'a, Watch>;
}
