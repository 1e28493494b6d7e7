//! The open files of a data directory, within a share of the process's descriptors.
//!
//! A [`CachedFile`] is opened when it is used and closed, the least recently used first, when its
//! descriptor is needed. A file with unsynced bytes stays open until it is synced: after closing a
//! file the kernel may forget that its write-back failed. [`OpenFiles`] counts the open files, and
//! is itself a [`Disk`](crate::io::Disk): if the process has no descriptor for a call, it closes
//! files and repeats the call.

mod cached_file;
mod disk;
#[cfg(test)]
mod open_files_tests;
mod ring;
mod share;

pub use cached_file::CachedFile;
pub use ring::OpenFiles;
pub use share::Share;
