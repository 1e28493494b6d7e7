//! Replication of one partition: logs, disks, the in-sync set and elections.
//!
//! A step belongs to one broker or to the store, or is a fault. A fetch is one step of follower and
//! leader. A decision of the controller is one step too, since its writes name the version that
//! they were computed from. A pause, a lost message or a cut network is a step that is not taken.

mod action;
mod caching;
mod controller;
mod disks;
mod faults;
mod follower;
mod invariants;
mod leader;
pub mod log;
#[cfg(test)]
mod log_tests;
mod model;
#[cfg(test)]
mod older_copy_tests;
mod rules;
mod state;
mod store;

pub use action::Action;
pub use model::{Bounds, Checks, Replication};
pub use state::State;
