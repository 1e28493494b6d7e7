//! The cluster as a client sees it: brokers, partition leaders, and connections.
//!
//! The metadata is a cache: it may be stale at any time and is requested again when a broker
//! rejects a request because of it. Connections are opened on demand and reopened after a failure.

mod backoff;
mod brokers;
mod config;
mod connection;
mod connector;
mod fault;
mod monitor;
mod observer;
mod route;
mod shared_connection;
mod tasks;
mod topology;
mod versions;

pub(crate) use backoff::Backoff;
pub(crate) use brokers::{Brokers, Deadline};
pub(crate) use connection::{Connection, PendingWrite, Reply};
pub(crate) use fault::{LinkError, LinkFault};
pub(crate) use route::{Readiness, Route};
pub(crate) use tasks::Tasks;
pub(crate) use topology::{TopicInfo, Topology};
