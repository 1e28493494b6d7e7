//! A broker: the shipped layers up to `replication` and `metadata`, joined as the engine joins
//! them, and in place of the layers above it the steps that these take.

mod applied;
mod assembly;
mod flushing;
mod following;
mod hand_overs;
mod in_sync_changes;
mod leading;
mod log_reports;
mod losses;

pub(crate) use assembly::Broker;
pub(crate) use leading::bytes_of;
