//! Why a broker did not start, or stopped.

use std::io;

use crate::broker::HostPort;
use crate::config::ConfigError;
use crate::engine::EngineError;
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
    /// The system refused a thread or a signal.
    #[error("the system refused what a broker needs")]
    System(#[source] io::Error),
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
    /// The engine behind the connections did not start, or stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Errors of the disk under the engine.
impl From<StorageError> for BrokerError {
    fn from(error: StorageError) -> Self {
        EngineError::from(error).into()
    }
}

/// Errors of the engine's metadata.
impl From<MetadataError> for BrokerError {
    fn from(error: MetadataError) -> Self {
        EngineError::from(error).into()
    }
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
