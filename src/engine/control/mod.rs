//! The control of an engine: a thread for metadata and groups with a pool, or a simulation.

mod control_thread;
mod executor;

pub(in crate::engine) use control_thread::SLOW_THREADS;
pub(crate) use control_thread::{Control, Unavailable};
pub(crate) use executor::Executor;
#[cfg(feature = "internals")]
pub use executor::Scheduler;
