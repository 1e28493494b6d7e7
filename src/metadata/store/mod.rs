//! The seam to what remembers the cluster: a small tree of nodes with versions and atomic writes.
//!
//! The semantics are ZooKeeper's, so that an ensemble and a file on one disk are the same to all
//! who are above: a node's parent must exist, a version starts at 0 and rises with each write, and
//! a node knows the transaction that created it. Every write names the version it was computed
//! from; there is no blind write. A write whose future was dropped may or may not have happened.

mod error;
mod op;
mod path;
mod seam;
mod watch;

pub use error::{Remedy, StoreError};
pub use op::{CreateMode, Op, OpResult};
pub use path::validate_path;
pub(super) use path::{children_prefix, parent};
pub use seam::{Node, Store, StoreFuture};
pub use watch::{Event, Watch, Watchers};
