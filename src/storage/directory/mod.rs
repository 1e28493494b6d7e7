//! A data directory: the logs of one broker on one disk.
//!
//! [`DataDir`] holds the lock, knows whose directory it is, finds and recovers the logs, makes and
//! removes them, and writes their marks. Data is matched by topic id; what nobody knows goes to
//! `quarantine/`, and nothing is deleted but on a caller's word.

mod identity;
mod marks;
mod names;
mod partition_metadata;
mod run;

pub use identity::{Identity, Opener};
pub use marks::LogMarks;
pub use partition_metadata::PartitionMetadata;
pub use run::Run;
