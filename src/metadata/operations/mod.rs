//! The operations that any broker may perform on the cluster. Most read the nodes that they change,
//! validate the change, and write it in one transaction. The transaction fails if one of these
//! nodes has changed meanwhile; the operation is then tried again.

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
mod log_reports;
mod losses;
mod partitions;
mod producer_ids;
mod rebuilt_states;
#[cfg(test)]
mod rebuilt_states_tests;
mod unclean_election;
#[cfg(test)]
mod unclean_election_tests;
mod unregistration;

pub use configs::{ConfigCheck, ConfigEdit, ConfigRules, ConfigTarget};
pub use creation::NewTopic;
pub use unclean_election::UncleanElection;
pub use unregistration::UnregisterError;
