//! The store of a broker without ZooKeeper: a tree in memory and a journal of transactions on disk.
//!
//! A transaction is checked against the tree, appended to both files of the journal and flushed.
//! Only then is it applied and reported to watchers, so no reader sees anything that a crash or one
//! damaged file could undo. Ephemeral nodes live at most as long as the process. They are journaled
//! too, since a transaction id must never be reused, and dropped when the journal is opened.

mod codec;
#[cfg(test)]
mod crash_tests;
mod files;
#[cfg(test)]
mod full_disk_tests;
mod journal;
#[cfg(test)]
mod mirror_tests;
mod reading;
mod rebuild;
mod recovery;
mod store;

pub use reading::{JournalFinding, inspect_journal};
pub use rebuild::{FoundCluster, FoundTopic, Rebuild, RebuiltTopic, Salvage};
pub use store::EmbeddedStore;
