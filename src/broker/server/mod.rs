//! A broker as a value: with threads and sockets, or without both in a simulation.

mod broker;
#[cfg(feature = "internals")]
mod simulated;

pub use broker::Broker;
pub(crate) use broker::Surroundings;
#[cfg(feature = "internals")]
pub use simulated::{OnApplied, SimulatedBroker, Simulation};
