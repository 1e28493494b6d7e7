//! One pipelined connection to a broker, and what keeps it: pauses between attempts, API versions
//! negotiated once, time limits, and a bound on requests in flight.
//!
//! It is what every peer of a broker needs, whether a client or a follower. Which broker to ask,
//! which errors to retry and what to do meanwhile is decided by the layers that use it.

mod backoff;
mod connection;
#[cfg(test)]
mod connection_tests;
mod connector;
mod fault;
mod route;
mod shared_connection;
mod tasks;
mod versions;

pub use backoff::Backoff;
pub use connection::{Connection, LinkConfig, Observer, PendingWrite, Reply};
pub use connector::Connector;
pub use fault::{LinkError, LinkFault};
pub use route::{Readiness, Route};
pub use shared_connection::SharedConnection;
pub use tasks::Tasks;
