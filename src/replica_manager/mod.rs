//! The tasks by which a broker takes part in replication: fetching from leaders, sending the
//! changes of in-sync sets, and handing partitions over.
//!
//! A task for each leader fetches all partitions that this broker follows there, over one
//! connection and with one request at a time. `replication::Partition` takes the answers and
//! decides; this layer knows sockets and sessions, and no rule of the protocol.

mod answers;
mod config;
mod elections;
mod fetch_session;
#[cfg(test)]
mod fetch_session_tests;
mod followed;
mod hand_overs;
mod in_sync_changes;
mod leader_fetcher;
mod leader_link;
mod manager;
mod pauses;
mod preferred_leaders;
mod replicas;
mod resignation;

pub use config::ReplicaConfig;
pub(crate) use elections::Elections;
pub(crate) use manager::{connector, start};
pub(crate) use resignation::resign;
