//! The operations that any broker may perform on the cluster. Each reads its inputs, validates the
//! change, and writes it in one transaction that fails if any input has changed meanwhile; it then
//! retries.

mod assignment;
#[cfg(test)]
mod assignment_tests;
mod attempts;
mod capacity;
mod configs;
mod creation;
mod deletion;
mod in_sync_sets;
#[cfg(test)]
mod in_sync_sets_tests;
mod partitions;
mod producer_ids;
mod unclean_election;
#[cfg(test)]
mod unclean_election_tests;

pub use configs::{ConfigCheck, ConfigEdit, ConfigRules, ConfigTarget};
pub use creation::NewTopic;
pub use unclean_election::UncleanElection;
