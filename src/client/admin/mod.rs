//! Administration: topics, offsets, settings, groups and the cluster itself.
//!
//! Each operation is a call within the client's default timeout, sent to the broker responsible:
//! the controller, a partition's leader, a group's coordinator, or each broker in turn.
//! [`AdminCalls`] creates the calls; [`Admin`] blocks until they complete.

mod blocking;
mod cluster;
mod configs;
mod damage;
mod elections;
mod group_offsets;
mod groups;
mod handle;
mod offsets;
mod topics;

pub use cluster::{BrokerDescription, ClusterDescription, PartitionSize, Problem};
pub use configs::{ConfigEntry, ConfigSource, Resource};
pub use damage::{DamagedStretch, SkippedStretch};
pub use elections::{LossyElection, ReplicaEnd, ReplicaEnds};
pub use group_offsets::{OffsetChange, PartitionLag, ResetTo};
pub use groups::{GroupDescription, GroupListing, MemberDescription};
pub use handle::{Admin, AdminCalls};
pub use topics::{NewTopic, PartitionDescription, TopicDescription};
