//! The parts of the broker that a handler may receive. The signature of a handler lists the parts
//! that it uses.
//!
//! Each part is a view of the broker's state for the duration of a request. The views of settings
//! and of groups are in `settings` and `coordinator`.

mod cluster;
mod led_partitions;
mod peers;
mod preferred_elections;
mod problems;
mod queries;
mod topics;

pub(crate) use cluster::{Addresses, Cluster};
pub(crate) use led_partitions::LedPartitions;
pub(crate) use peers::Peers;
pub(crate) use preferred_elections::{ExpectedMove, PreferredElections};
pub(crate) use queries::{OfTopic, Query};
pub(crate) use topics::{Growth, Topics};
