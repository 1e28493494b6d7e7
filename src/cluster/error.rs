//! The errors of a cluster in this process.

use std::io;
use std::time::Duration;

use crate::broker::BrokerError;
use crate::config::ConfigError;
use crate::metadata::MetadataError;

/// The reason why a call of a cluster failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A setting is not valid, or cannot be given because each node needs its own value.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A node did not start, or did not stop in order.
    #[error("node {node}")]
    Node {
        /// The node.
        node: usize,
        /// The error of its broker.
        source: BrokerError,
    },
    /// The number of nodes is not possible.
    #[error("a cluster has 1 to {most} nodes, not {asked}")]
    NodeCount {
        /// The requested number.
        asked: usize,
        /// The largest number.
        most: usize,
    },
    /// There is no such node.
    #[error("there is no node {node}: the nodes are 0 to {}", .count - 1)]
    NoSuchNode {
        /// The node.
        node: usize,
        /// The number of nodes.
        count: usize,
    },
    /// A cut or a delay was requested between an end and itself.
    #[error("a cut or a delay needs two different ends, not {0} twice")]
    SameEnd(String),
    /// The node does not run, so it cannot be stopped or paused.
    #[error("node {node} does not run: start it first")]
    NotRunning {
        /// The node.
        node: usize,
    },
    /// The node runs already, so it cannot be started.
    #[error("node {node} runs already")]
    Running {
        /// The node.
        node: usize,
    },
    /// The topic does not exist, or has no such partition.
    #[error("there is no partition {partition} of a topic '{topic}'")]
    NoSuchPartition {
        /// The topic.
        topic: String,
        /// The number of the partition.
        partition: i32,
    },
    /// Not all nodes and replicas were in sync in time.
    #[error("not in sync within {within:?}: {lacking}")]
    NotInSync {
        /// The time that was given.
        within: Duration,
        /// A broker that is not there, or a partition that lacks replicas.
        lacking: String,
    },
    /// The metadata store cannot be read.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The system refused an address or a thread.
    #[error("the system refused what a cluster needs")]
    System(#[from] io::Error),
}
