//! The in-sync set of a partition in the store, and the replicas that are eligible beside it.
//!
//! Leaders and the controller both change in-sync sets. The consequences of a change are decided
//! here, and each rule about them is one predicate in `rules`. The numbers of the rules are those
//! of `model/`.

mod change;
pub(super) mod rules;
mod succession;
#[cfg(test)]
mod succession_tests;
mod unclean;

pub use change::{InSyncOutcome, InSyncStateChange};
pub(super) use succession::{handed_over, with_members};
pub use unclean::UncleanRefusal;
pub(super) use unclean::UncleanRequest;
