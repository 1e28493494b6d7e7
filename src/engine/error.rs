//! Errors of an engine.

use std::io;
use std::path::PathBuf;

use crate::metadata::MetadataError;
use crate::storage::StorageError;
use crate::types::TopicName;

/// An error when an engine starts, when its topics change, or the reason why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The metadata in the data directory does not know some of the logs.
    #[error(
        "'{}' holds {count} logs that its metadata does not know: {partitions}; stop and run \
         'streamlog log rebuild-metadata {}', or move their directories away if nobody wants them",
        .dir.display(), .dir.display()
    )]
    UnknownLogs {
        /// The data directory.
        dir: PathBuf,
        /// The number of such logs.
        count: usize,
        /// The first of them.
        partitions: String,
    },
    /// The topic cannot be created: its logs would be in the way of those of an earlier one.
    #[error(
        "'{}' holds logs of an earlier topic '{topic}', which was deleted by hand in ZooKeeper: \
         restore /brokers/topics/{topic} and all below it; or, if nobody wants them, move the \
         directories of the logs away and delete /config/topics/{topic}", .dir.display()
    )]
    LogsLeft {
        /// The name of the topic.
        topic: TopicName,
        /// The data directory.
        dir: PathBuf,
    },
    /// The directory belongs to a cluster, but the store is empty.
    #[error(
        "'{}' holds {count} logs, but there is no cluster in ZooKeeper: check the chroot in \
         zookeeper.connect", .dir.display()
    )]
    NoCluster {
        /// The data directory.
        dir: PathBuf,
        /// The number of its logs.
        count: usize,
    },
    /// The directory belongs to a broker on ZooKeeper, but was opened without it.
    #[error(
        "the metadata of '{}' is in ZooKeeper: start its broker with --zookeeper", .dir.display()
    )]
    OnZooKeeper {
        /// The data directory.
        dir: PathBuf,
    },
    /// The metadata cannot be used.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The system refused a thread, a signal or a limit.
    #[error("the system refused what the engine needs")]
    System(#[source] io::Error),
    /// The disk, the metadata or a thread failed while the engine ran. Its state can no longer be
    /// trusted, so it stopped.
    #[error("the engine stopped: {reason}")]
    Failed {
        /// The cause.
        reason: String,
    },
    /// The engine is stopping and accepts nothing new.
    #[error("the engine is stopping")]
    Stopping,
    /// A change was made, but did not reach the partitions of this broker in time.
    #[error("the change was made, but is not in use yet: look again in a moment")]
    NotApplied,
}
