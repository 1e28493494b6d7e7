//! The controller: the one broker that assigns partition leaders.
//!
//! [`plan`] is a pure function from an image to the operations that correct it. A
//! [`ControllerClaim`] executes them in transactions, each of which checks the controller epoch, so
//! a controller that was deposed without noticing cannot write. Plans depend on the whole image,
//! not on past events, so a new controller needs no further knowledge to take over.

mod awaited_reports;
mod blocked_nodes;
mod claim;
#[cfg(test)]
pub(super) mod cluster_tests;
mod election;
#[cfg(test)]
mod election_tests;
mod evidence;
mod plan;
#[cfg(test)]
mod plan_tests;
mod reports;
#[cfg(test)]
mod reports_tests;
mod unclean_election;
#[cfg(test)]
mod unclean_election_tests;
mod unvouched;
#[cfg(test)]
mod unvouched_tests;

pub(super) use awaited_reports::AwaitedReports;
pub(super) use blocked_nodes::BlockedNodes;
pub(super) use claim::ControllerClaim;
pub(super) use plan::{Basis, Group, plan};
pub(super) use unclean_election::elect_unclean;
