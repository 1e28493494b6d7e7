//! The traffic between the replicas of a partition: a leader counts the fetches of its followers,
//! and a follower applies the answers of its leader.

#[cfg(test)]
mod committed_tests;
mod damage_reports;
mod followers;
mod following;
#[cfg(test)]
mod following_tests;
mod handing_over;
mod in_sync_changes;
mod log_check;
mod log_report;
mod repairing;
#[cfg(test)]
mod repairing_tests;
#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
mod slow_disk_tests;
#[cfg(test)]
mod truncation_faults_tests;
#[cfg(test)]
mod unvouched_tests;

#[cfg(test)]
pub(crate) use truncation_faults_tests::Pair;

pub use damage_reports::DamageReports;
pub use following::{Fetched, FollowerError, FollowerPosition, take_all_fetched};
pub use handing_over::HandOverProgress;
pub use in_sync_changes::{InSyncChanges, RequestedChange};
pub use log_check::{LogCheck, UnsoundLog};
pub use repairing::{RefusedAgain, RepairFailed, Repairable, SegmentRepair};
