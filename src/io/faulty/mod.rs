//! A disk that loses everything not synced, and fails on demand.
//!
//! [`FaultyDisk`] wraps any other disk, which plays the medium: bytes reach it by `sync_data`,
//! names by `sync_dir`, and nothing else is promised. [`FaultyDisk::crash`] simulates a power
//! failure: any of the unsynced pages, lengths and names may survive, and the others are lost. If
//! the inner disk is the system's, the end of the process has the same effect.
//!
//! A test tool for this engine and for embedders: it takes one lock for all calls, keeps unsynced
//! bytes in memory and hands out no descriptor. All random choices follow from a seed.

mod applying;
mod change;
mod disk;
#[cfg(test)]
mod disk_tests;
#[cfg(test)]
mod failures_tests;
mod fault;
mod file;
mod hold;
mod machine;
#[cfg(test)]
mod model_tests;
mod namespace;
#[cfg(test)]
mod namespace_tests;
mod page_cache;
mod tree;

pub use disk::FaultyDisk;
pub use fault::{Failure, Fault, Operation};
pub use hold::{ReadHold, SyncHold};
