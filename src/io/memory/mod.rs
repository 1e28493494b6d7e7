//! A file system in memory, for tests that need no disk.
//!
//! Everything is durable at once and nothing fails: `sync_data` and `sync_dir` have nothing to do.
//! Clones share the same files, so a second broker opened on a clone sees the files that the first
//! one left. Never used where bytes must survive.

mod disk;
mod file;
mod tree;

pub use disk::MemoryDisk;
