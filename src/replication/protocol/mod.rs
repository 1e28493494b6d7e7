//! The protocol of replication as state machines: no I/O, no clock, no lock, no task.
//!
//! [`Leader`] and [`Follower`] take events, with the time where it matters, and return the actions
//! to be done. Their caller owns the log, the store and the connections. `rules.rs` has the rules
//! that decide, each once. A test runs the state machines of three brokers through random schedules
//! of faults, with all rules in force and with single rules switched off.

#[cfg(test)]
mod ablation_tests;
mod asks;
#[cfg(test)]
mod broker_tests;
#[cfg(test)]
mod caching_tests;
mod epoch_history;
mod follower;
#[cfg(test)]
mod follower_tests;
mod hand_over;
#[cfg(test)]
mod hand_over_tests;
mod in_sync_set;
mod leader;
#[cfg(test)]
mod leader_tests;
mod position;
#[cfg(test)]
mod promises_tests;
#[cfg(test)]
mod proof_tests;
mod rules;
#[cfg(test)]
mod schedule_tests;

pub use asks::Asks;
pub use epoch_history::EpochHistory;
pub use follower::{FetchAnswer, FetchOutcome, Follower, FollowerStep};
pub use hand_over::{HandOverStage, HandOverStep};
pub use in_sync_set::{InSyncChange, InSyncSet, InSyncState};
pub use leader::{CountedFetch, Leader, LeaderStart};
pub use position::{FetchPosition, FetchingReplica, Floor};
pub use rules::{Rule, Rules};
