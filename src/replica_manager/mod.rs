//! The tasks by which a broker takes part in replication: fetching from leaders, sending the
//! changes of in-sync sets, repairing damage, and handing partitions over.
//!
//! One task for each leader fetches all partitions in which this broker follows that leader, over
//! one connection and with one request at a time. `replication::Partition` takes the answers and
//! decides. This layer knows sockets and sessions, and no rule of the protocol.

mod answers;
mod config;
mod fetch_session;
#[cfg(test)]
mod fetch_session_tests;
mod followed;
mod hand_overs;
mod in_sync_changes;
mod leader_fetcher;
mod leader_link;
mod leader_reader;
mod log_reporter;
mod manager;
mod pauses;
mod repairs;
mod replicas;
mod unsettled;

pub use config::ReplicaConfig;
pub(crate) use hand_overs::{Elections, resign};
pub(crate) use manager::{connector, start};
