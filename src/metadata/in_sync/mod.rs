//! The in-sync set of a partition in the store, and the eligible replicas outside the set.
//!
//! Leaders and the controller both change in-sync sets. The consequences of a change are decided
//! here. `rules` has the predicates of the rules about them, numbered as in `docs/replication.md`.

mod change;
pub(super) mod rules;
mod succession;
#[cfg(test)]
mod succession_tests;
mod unclean;

pub use change::{InSyncOutcome, InSyncStateChange};
#[cfg(any(test, feature = "internals"))]
pub use rules::ElectionRule;
pub use rules::ElectionRules;
pub(super) use succession::{eligible, handed_over, with_damage, with_members, without_damage};
pub use unclean::DecisionRefusal;
pub(super) use unclean::UncleanRequest;
