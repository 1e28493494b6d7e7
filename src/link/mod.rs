//! One pipelined connection to a broker, with pauses between attempts, API versions negotiated
//! once, time limits, and a bound on requests in flight.
//!
//! Clients and followers both use it. They decide which broker to ask, which errors to retry, and
//! how to proceed meanwhile.

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

pub use crate::net::Network;
pub use backoff::Backoff;
pub use connection::{Connection, LinkConfig, Observer, PendingWrite, Reply};
pub use connector::Connector;
pub use fault::{LinkError, LinkFault};
pub use route::{Readiness, Route};
pub use shared_connection::SharedConnection;
pub use tasks::Tasks;
