//! The store of a broker that is alone: a tree in memory and a journal of transactions on disk.
//!
//! A transaction is checked against the tree, written, flushed, and only then applied and told to
//! watchers, so nothing is ever read that a crash could take back. Ephemeral nodes live as long as
//! the process: they are written too, since a transaction id must never serve twice, and dropped
//! when the journal is opened.

mod codec;
#[cfg(test)]
mod crash_tests;
mod journal;
mod recovery;
mod store;
mod tree;

pub use store::EmbeddedStore;
