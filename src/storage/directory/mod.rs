//! A data directory: the logs of a broker on a disk.
//!
//! [`DataDir`] holds the lock, verifies the owner, finds and recovers the logs, creates and removes
//! them, and records their offsets. Data is matched by topic id; files with unknown names are moved
//! to `quarantine/`, and no log is deleted unless a caller asks for it.

mod checkpoints;
mod data_dir;
mod identity;
mod last_time;
mod lifecycle;
mod losses;
mod names;
mod open;
mod partition_metadata;
mod run;
mod skipping;
mod slot;
mod space;
mod survey;

pub use checkpoints::HighWatermarks;
#[cfg(test)]
pub(crate) use crash_tests::StoppingDisk;
pub use data_dir::{DataDir, DataDirOptions, StartReport};
pub use identity::{Identity, Opener};
pub(crate) use identity::{identity_flaw, is_data_dir, is_new, is_on_zookeeper};
pub use lifecycle::Truncation;
pub use losses::Unreadable;
pub(in crate::storage) use names::SCRUB_CHECKPOINT;
pub(crate) use names::{AUDIT_LOG, CHECKED_TEXTS, partition_of};
pub(crate) use open::{gone_logs, start_points};
pub use open::{lock_data_dir, restore_identity};
pub use partition_metadata::PartitionMetadata;
pub(crate) use partition_metadata::{FILE_NAME as PARTITION_METADATA, metadata_flaw};
pub use run::Run;
pub use slot::LogConfigs;
pub use space::Space;
pub(crate) use survey::quarantine;

#[cfg(test)]
mod bad_disk_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod directory_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod start_over_tests;
