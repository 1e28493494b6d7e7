//! The interface of a store.

use std::fmt::Debug;
use std::pin::Pin;

use bytes::Bytes;

use crate::metadata::store::{Op, OpResult, StoreError, Watch};

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
}

/// A store of nodes.
pub trait Store: Send + Sync + Debug {
    /// The node at `path`, if it exists.
    fn get<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Option<Node>>;

    /// The names of the children of `path`, sorted; empty if `path` does not exist.
    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// `path` and all its descendants, sorted by path. The result is not older than any write or
    /// event that the caller has seen, but its nodes may have been read at different moments.
    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>>;

    /// Executes `ops` atomically; results are in the same order.
    ///
    /// # Errors
    /// The error of the first operation that fails, with its path.
    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>>;

    /// Watches `path` and its descendants, from this call on.
    fn watch(&self, path: &str) -> Watch;
}
