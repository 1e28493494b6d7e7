//! An image of the cluster at one moment: brokers, topics and settings, as plain values.
//!
//! An [`Image`] is immutable and shares unchanged parts with its predecessor. An unreadable node is
//! listed as broken; the image lacks only the contents of that node.

mod broken_nodes;
mod broker;
mod cluster_image;
mod delta;
mod replica_key;
mod topic;
mod topic_state;

pub use broker::{
    Broker, DirectoryPlace, Incarnation, KnownBroker, Listener, LogExtent, LogReport, LogReports,
    Membership, Registration,
};
pub use cluster_image::{BrokenNode, Controller, Image};
pub use delta::Delta;
pub use replica_key::{KeyHash, ReplicaKey};
pub use topic::{
    Caching, Configs, EligibleReplica, Irreplaceable, IsrMember, Loss, Partition, PartitionState,
    Replicas, Tombstone, Topic,
};
pub(in crate::metadata) use topic::{DirectoryId, PartitionsNode};
pub use topic_state::TopicState;
