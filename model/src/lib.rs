//! A model of streamlog's replication: three brokers, one partition, and a coordinating store.
//!
//! It has two parts, each a state machine that [`search`] explores breadth first. [`replication`]
//! has logs, disks and the in-sync set, and shows whether a record can be lost. [`leadership`] has
//! leases and time, and shows whether two brokers can answer as the leader at once. Every rule of
//! the protocol is a [`Rule`] that can be switched off, so that a search shows its purpose.

pub mod brokers;
pub mod leadership;
pub mod replication;
pub mod rule;
pub mod scenarios;
pub mod search;
pub mod verdict;

pub use brokers::{BrokerId, BrokerSet, PerBroker};
pub use rule::{Rule, Rules};
pub use search::{Invariant, Model, Outcome, Report};
