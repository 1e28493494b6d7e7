//! What any broker may do to the cluster. Each operation reads what it depends on, judges it, and
//! writes by one transaction that holds only if nothing of it changed meanwhile; else it begins
//! again.

mod assignment;
mod attempts;
mod capacity;
mod configs;
mod creation;
mod deletion;
mod partitions;
mod producer_ids;

pub use configs::{ConfigCheck, ConfigEdit, ConfigRules, ConfigTarget};
pub use creation::NewTopic;
