//! Why a broker did not start, or stopped.

use std::io;
use std::path::PathBuf;

use crate::broker::HostPort;
use crate::config::ConfigError;
use crate::metadata::MetadataError;
use crate::storage::StorageError;
use crate::types::{TopicId, TopicName};

/// Why a broker did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// What was asked for.
        address: HostPort,
        /// What the system said.
        source: io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There are logs of topics that the metadata journal does not have.
    #[error(
        "'{}' holds {count} logs that its metadata journal does not know: {partitions}; stop and \
         run 'streamlog log rebuild-metadata {}', or move their directories away if nobody wants \
         them", .dir.display(), .dir.display()
    )]
    UnknownLogs {
        /// The data directory.
        dir: PathBuf,
        /// How many logs.
        count: usize,
        /// The first of them.
        partitions: String,
    },
    /// Logs of two topics have one name, and nothing tells which of the topics was deleted.
    #[error(
        "the logs of '{topic}' belong to two topics, {} and {}: move the directories of one of \
         them away ('topic_id' in partition.metadata)", .ids[0], .ids[1]
    )]
    TopicConflict {
        /// The name.
        topic: TopicName,
        /// The topics.
        ids: [TopicId; 2],
    },
    /// The metadata cannot be used.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The system refused a thread, a signal or a limit.
    #[error("the system refused what a broker needs")]
    System(#[source] io::Error),
    /// The disk failed under a running broker: nothing unflushed can be trusted, so it stopped.
    #[error("the broker stopped: {reason}")]
    Failed {
        /// What failed.
        reason: String,
    },
    /// It was told to stop, and takes up nothing new.
    #[error("the broker stops")]
    Stopping,
    /// A change was made, and will show; it has not reached this broker's partitions in time.
    #[error("the change was made, but is not in use yet: look again in a moment")]
    NotApplied,
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "; is another broker running? choose another port with --listen HOST:PORT, or port 0"
        }
        io::ErrorKind::PermissionDenied => "; ports below 1024 need privileges",
        _ => "",
    }
}
