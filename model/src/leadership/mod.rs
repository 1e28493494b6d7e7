//! The one leader of a partition that answers: leases, proof by the in-sync set, and hand-over.
//!
//! This part has no logs, and its time is only an order of events. For each pair of brokers, the
//! event "2 s since the last fetch" ends the follower's memory of that fetch. It also ends the
//! leader's proof, whose limit is shorter. A lease may end at any moment, its session only later.

mod action;
mod broker;
mod controller;
mod faults;
mod model;
mod rules;
mod state;
mod store;

pub use action::Action;
pub use model::{Bounds, LeadershipModel};
pub use state::State;
