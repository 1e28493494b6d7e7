//! What can go wrong with a change of the cluster, and what to do about it.

use crate::config::ConfigError;
use crate::metadata::store::{Remedy, StoreError};
use crate::metadata::values::Malformed;
use crate::types::BrokerId;

/// Why an operation on the cluster was not done.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store belongs to another system or another cluster.
    #[error("this is not the store to use: {found} is there, not {expected}")]
    ForeignStore {
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The tree was written by a later release.
    #[error("the metadata has format {found}; this release reads up to {newest}")]
    NewerFormat {
        /// Its format.
        found: u32,
        /// The newest format known.
        newest: u32,
    },
    /// A live broker has the number.
    #[error("broker id {0} is in use")]
    BrokerIdInUse(BrokerId),
    /// The store has given up on this broker, which must not lead any more.
    #[error("the session with the metadata store is over")]
    SessionExpired,
    /// A node that is needed cannot be read.
    #[error("node {path} cannot be read: {reason}")]
    Malformed {
        /// The node.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A topic has the name, or had it and is not all removed.
    #[error("topic '{0}' exists")]
    TopicExists(String),
    /// There is no such topic.
    #[error("there is no topic '{0}'")]
    UnknownTopic(String),
    /// A topic cannot have so many partitions.
    #[error("cannot create {asked} partitions: {reason}")]
    InvalidPartitions {
        /// The number asked for.
        asked: i64,
        /// Which numbers can.
        reason: String,
    },
    /// There cannot be so many replicas.
    #[error("replication factor {asked} with {live} live brokers")]
    InvalidReplicationFactor {
        /// The number asked for.
        asked: i16,
        /// The number of brokers that could keep one.
        live: usize,
    },
    /// The replicas given for a partition do not fit.
    #[error("the replicas of partition {partition} do not fit: {reason}")]
    InvalidAssignment {
        /// Its number.
        partition: usize,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A setting does not fit.
    #[error(transparent)]
    InvalidConfig(#[from] ConfigError),
}

impl MetadataError {
    /// What a caller can do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Store(error) => error.remedy(),
            Self::ForeignStore { .. }
            | Self::NewerFormat { .. }
            | Self::BrokerIdInUse(_)
            | Self::SessionExpired => Remedy::Fatal,
            Self::TopicExists(_) | Self::UnknownTopic(_) => Remedy::Refresh,
            Self::Malformed { .. }
            | Self::InvalidPartitions { .. }
            | Self::InvalidReplicationFactor { .. }
            | Self::InvalidAssignment { .. }
            | Self::InvalidConfig(_) => Remedy::Reject,
        }
    }

    pub(super) fn malformed(path: &str, Malformed(reason): Malformed) -> Self {
        Self::Malformed { path: path.to_owned(), reason }
    }
}
