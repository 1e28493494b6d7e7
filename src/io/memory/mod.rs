//! A file system in memory, for tests that need no disk.
//!
//! Everything is durable at once and nothing fails: `sync_data` and `sync_dir` have nothing to do.
//! Clones share the same files, so a second broker opened on a clone sees the files that the first
//! one left. Never used where bytes must survive. `FaultyDisk` keeps its live names in the same
//! [`Names`].

mod disk;
mod file;
mod names;

pub use disk::MemoryDisk;
pub(super) use names::{CURRENT, Change, Child, DirectoryId, FileId, NameInDirectory, Names, ROOT};
