//! What the cluster looks like at one moment: brokers, topics, settings, as plain values.
//!
//! An [`Image`] never changes; the next one shares with it all that stayed. A node that cannot be
//! read is listed as broken and concerns nothing but itself.

mod broker;
mod cluster_image;
mod delta;
mod topic;

pub use broker::{Broker, Incarnation, Listener, Registration};
pub use cluster_image::{BrokenNode, Controller, Image};
pub use delta::Delta;
pub use topic::{Configs, IsrMember, Partition, PartitionState, Replicas, Tombstone, Topic};
