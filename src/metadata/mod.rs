//! The state of the cluster and the operations that change it.
//!
//! The authoritative state is a tree of nodes in a [`Store`]. Every broker holds an [`Image`] of
//! it, which is immutable and replaced as a whole. Images are not sent between brokers: each broker
//! watches the store. One of them, the controller, elects leaders; a leader changes its in-sync set
//! and hands over by itself. All writes are conditional on the versions of nodes or their absence.
//!
//! This layer never touches a log: deleting a topic leaves a tombstone, which permits brokers to
//! remove the topic's data.

mod bootstrap;
#[cfg(test)]
mod bootstrap_tests;
mod cluster;
#[cfg(test)]
mod cluster_tests;
mod config;
mod controller;
mod directory_tokens;
#[cfg(test)]
mod directory_tokens_tests;
mod embedded;
mod error;
#[cfg(test)]
mod hand_edit_tests;
mod image;
mod image_builder;
#[cfg(test)]
mod image_tests;
mod in_sync;
mod layout;
mod lease;
mod lease_keeping;
#[cfg(test)]
mod lease_tests;
mod member;
mod membership;
#[cfg(any(test, feature = "broker", feature = "internals"))]
#[cfg_attr(
    not(any(test, feature = "internals")),
    expect(dead_code, reason = "some faults are injected by the project's own tests only")
)]
mod memory;
mod metadata_cache;
#[cfg(test)]
mod missing_settings_tests;
mod operations;
mod problems;
#[cfg(test)]
mod problems_tests;
#[cfg(test)]
mod session_tests;
mod store;
mod tree;
mod values;
#[cfg(feature = "broker")]
mod zookeeper;

pub use bootstrap::{cluster_id, ensure_cluster_id, has_cluster};
pub use cluster::{Changes, Metadata};
pub use config::MetadataConfig;
pub use directory_tokens::DirectoryTokens;
pub use embedded::{
    EmbeddedStore, FoundCluster, FoundTopic, JournalFinding, Rebuild, RebuiltTopic, Salvage,
    inspect_journal,
};
pub use error::MetadataError;
pub use image::{
    BrokenNode, Broker, Caching, Configs, Controller, Delta, DirectoryPlace, EligibleReplica,
    Image, Incarnation, Irreplaceable, IsrMember, KeyHash, KnownBroker, Listener, LogExtent,
    LogReport, LogReports, Loss, Membership, Partition, PartitionState, Registration, ReplicaKey,
    Replicas, Tombstone, Topic, TopicState,
};
#[cfg(any(test, feature = "internals"))]
pub use in_sync::ElectionRule;
pub use in_sync::{DecisionRefusal, ElectionRules, InSyncOutcome, InSyncStateChange};
pub use lease::Lease;
#[cfg(any(test, feature = "broker", feature = "internals"))]
pub use memory::{Lost, MemoryStore};
pub use operations::{
    ConfigCheck, ConfigEdit, ConfigRules, ConfigTarget, NewTopic, UncleanElection, UnregisterError,
};
pub(crate) use problems::{Problem, problems};
pub use store::{
    CreateMode, Event, Node, Op, OpResult, Remedy, SessionError, SessionId, Store, StoreError,
    StoreFuture, Watch, Watchers, validate_path,
};
#[cfg(feature = "broker")]
pub use zookeeper::{
    Digest, SessionObserver, SessionTicket, ZooKeeperAddress, ZooKeeperConfig, ZooKeeperStore,
};
