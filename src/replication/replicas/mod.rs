//! The traffic between the replicas of a partition: what a leader makes of its followers' fetches,
//! and a follower of its leader's answers.

mod followers;
mod following;
#[cfg(test)]
mod following_tests;
mod handing_over;
mod in_sync_changes;
#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
mod truncation_faults_tests;

pub use following::{FollowerError, FollowerPosition};
pub use handing_over::HandOverProgress;
pub use in_sync_changes::{InSyncChanges, RequestedChange};
