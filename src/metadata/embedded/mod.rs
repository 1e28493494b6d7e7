//! The store of a broker that is alone: a tree in memory and a journal of transactions on disk.
//!
//! A transaction is checked against the tree, written to the two files of the journal, flushed, and
//! only then applied and told to watchers, so nothing is ever read that a crash, or one damaged
//! file, could take back. Ephemeral nodes live as long as
//! the process: they are written too, since a transaction id must never serve twice, and dropped
//! when the journal is opened.

mod codec;
#[cfg(test)]
mod crash_tests;
mod files;
mod journal;
#[cfg(test)]
mod mirror_tests;
mod reading;
mod rebuild;
mod recovery;
#[cfg(test)]
mod room_tests;
mod shared_values;
mod store;
mod tree;

pub use reading::{JournalFinding, inspect_journal};
pub use rebuild::{FoundCluster, FoundTopic, Rebuild, RebuiltTopic, Salvage};
pub use store::EmbeddedStore;
