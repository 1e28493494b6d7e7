//! The errors of cluster operations, and their remedies.

use crate::config::ConfigError;
use crate::metadata::in_sync::DecisionRefusal;
use crate::metadata::store::{Remedy, StoreError};
use crate::metadata::values::Malformed;
use crate::types::BrokerId;

/// The reason why an operation on the cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The store failed or refused the operation.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store belongs to another system or another cluster.
    #[error("this is not the store to use: {found} is there, not {expected}")]
    ForeignStore {
        /// The expected contents.
        expected: String,
        /// The contents found.
        found: String,
    },
    /// The tree was written by a later release.
    #[error("the metadata has format {found}; this release reads up to {newest}")]
    NewerFormat {
        /// The format found.
        found: u32,
        /// The newest format that this release reads.
        newest: u32,
    },
    /// Another live broker has this broker's id.
    #[error(
        "broker id {broker} is in use by {}; give this broker another id with --broker-id",
        .address.as_ref().map_or_else(
            || "another process".to_owned(),
            |address| format!("the broker at {address}"),
        )
    )]
    BrokerIdInUse {
        /// The id.
        broker: BrokerId,
        /// The address of the broker that has it, if it has registered any.
        address: Option<String>,
    },
    /// A required node cannot be read.
    #[error("node {path} cannot be read: {reason}")]
    Malformed {
        /// The node.
        path: String,
        /// The fault.
        reason: String,
    },
    /// A topic has this name, or nodes of an earlier one remain.
    #[error("topic '{name}' exists{}", .is_left.then(|| settings_left(.name)).unwrap_or_default())]
    TopicExists {
        /// The name.
        name: String,
        /// True if only its settings are left, since somebody has deleted the others by hand.
        is_left: bool,
    },
    /// The topic does not exist.
    #[error("there is no topic '{0}'")]
    UnknownTopic(String),
    /// The number of partitions is not valid.
    #[error("cannot create {asked} partitions: {reason}")]
    InvalidPartitions {
        /// The requested number.
        asked: i64,
        /// The valid numbers.
        reason: String,
    },
    /// The replication factor cannot be satisfied.
    #[error("replication factor {asked} in a cluster of {known} brokers")]
    InvalidReplicationFactor {
        /// The requested replication factor.
        asked: i16,
        /// The number of brokers that can hold a replica.
        known: usize,
    },
    /// The replicas of a partition are not valid.
    #[error("the replicas of partition {partition} do not fit: {reason}")]
    InvalidAssignment {
        /// The partition number.
        partition: usize,
        /// The fault.
        reason: &'static str,
    },
    /// A setting is not valid.
    #[error(transparent)]
    InvalidConfig(#[from] ConfigError),
    /// An operator's decision about a partition was refused.
    #[error(transparent)]
    Decision(#[from] DecisionRefusal),
}

impl MetadataError {
    /// The possible reaction to this error.
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Store(error) => error.remedy(),
            Self::ForeignStore { .. } | Self::NewerFormat { .. } | Self::BrokerIdInUse { .. } => {
                Remedy::Fatal
            }
            Self::TopicExists { .. } | Self::UnknownTopic(_) => Remedy::Refresh,
            Self::Malformed { .. }
            | Self::InvalidPartitions { .. }
            | Self::InvalidReplicationFactor { .. }
            | Self::InvalidAssignment { .. }
            | Self::InvalidConfig(_)
            | Self::Decision(_) => Remedy::Reject,
        }
    }

    pub(super) fn malformed(path: &str, Malformed(reason): Malformed) -> Self {
        Self::Malformed { path: path.to_owned(), reason }
    }
}

fn settings_left(topic: &str) -> String {
    format!(
        " in part: /config/topics/{topic} is left of it, and the rest was deleted by hand in \
         ZooKeeper; restore /brokers/topics/{topic} and all below it, or, if nobody wants the \
         topic, delete /config/topics/{topic}"
    )
}
