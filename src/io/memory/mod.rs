//! A file system in memory, for tests that want the engine without a disk under it.
//!
//! Everything is durable at once and nothing fails: `sync_data` and `sync_dir` have nothing to do,
//! and what the medium holds is what was written. Clones share the same files, so a second broker
//! value opened on a clone sees what the first one left. Never used where bytes must survive.

mod disk;
mod file;
mod tree;

pub use disk::MemoryDisk;
