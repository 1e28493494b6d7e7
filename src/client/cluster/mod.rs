//! The cluster as a client sees it: brokers, partition leaders, and connections.
//!
//! The metadata is a cache: it may be stale at any time and is requested again when a broker
//! rejects a request because of it. Connections are opened on demand and reopened after a failure.

mod any_broker;
mod brokers;
mod monitor;
mod named_leader;
mod refreshes;
mod roles;
mod topology;

pub(crate) use brokers::{Brokers, Deadline};
pub(crate) use named_leader::NamedLeader;
pub(crate) use refreshes::{Refresh, Refreshes};
pub(crate) use roles::Role;
pub(crate) use topology::{TopicInfo, Topology};
