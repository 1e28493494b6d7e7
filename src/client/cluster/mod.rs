//! The brokers as a client sees them: who they are, who leads what, and connections to them.
//!
//! What is known of the cluster is a cache: it may be wrong at any time, and is asked for again
//! when a broker says so. Connections are made when needed and made again after a failure.

mod backoff;
mod brokers;
mod connection;
mod link;
mod monitor;
mod route;
mod topology;
mod versions;

pub(crate) use backoff::Backoff;
pub(crate) use brokers::{Brokers, Deadline};
pub(crate) use connection::{Connection, Leaving, Reply};
pub(crate) use monitor::Monitor;
pub(crate) use route::{Footing, Route};
pub(crate) use topology::{TopicInfo, Topology};
