//! The interface to the storage of cluster metadata: a small tree of versioned nodes with atomic
//! writes.
//!
//! The semantics are ZooKeeper's, so that the layers above can use an ensemble or a file on one
//! disk alike. A node's parent must exist, versions start at 0 and rise with each write, and a node
//! knows the transaction that created it. Every write names the version on which it is based; there
//! are no blind writes. A write whose future was dropped may or may not have happened.
//!
//! A handle is one session for its whole life. When the store has ended the session, the handle
//! refuses every call, so a write that was computed under one session never happens under the next.

mod contract;
mod error;
mod local_sessions;
mod op;
mod path;
mod session;
mod transact;
mod watch;

pub use contract::{Node, Store, StoreFuture};
pub use error::StoreError;
pub(super) use local_sessions::{LocalSession, LocalSessions};
pub use op::{CreateMode, Op, OpResult};
pub use path::validate_path;
pub(super) use path::{children_prefix, parent};
pub use session::{Remedy, SessionError, SessionId};
pub(super) use transact::transact;
pub use watch::{Event, Watch, Watchers};
