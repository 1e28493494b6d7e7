//! What every store can do.

use std::fmt::Debug;
use std::pin::Pin;

use bytes::Bytes;

use crate::metadata::store::{Op, OpResult, StoreError, Watch};

/// What a store's calls return: boxed, so that the trait serves as an object.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// One node as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The bytes kept there.
    pub value: Bytes,
    /// How often the value was written since the node was created.
    pub version: i32,
    /// The transaction that created it: rises over the store's whole life, restarts included.
    pub created: i64,
}

/// A store of nodes.
pub trait Store: Send + Sync + Debug {
    /// The node at `path`, if there is one.
    fn get<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Option<Node>>;

    /// The names of the nodes right below `path`, sorted; empty when `path` is absent.
    fn children<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<String>>;

    /// `path` and everything below it, sorted by path. Not older than any write or event that
    /// the caller has seen; nodes may be of different moments.
    fn snapshot<'a>(&'a self, path: &'a str) -> StoreFuture<'a, Vec<(String, Node)>>;

    /// Executes all of `ops` or none; results come in their order.
    ///
    /// # Errors
    /// The first operation that does not hold names its path.
    fn multi(&self, ops: Vec<Op>) -> StoreFuture<'_, Vec<OpResult>>;

    /// Tells of changes at `path` and below, from this call on.
    fn watch(&self, path: &str) -> Watch;
}
