//! The errors of a broker.

use std::io;

use crate::broker::HostPort;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::metadata::MetadataError;
use crate::storage::StorageError;
use crate::types::{TopicId, TopicName};

/// The reason why a broker did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// A setting is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address could not be bound.
    #[error("cannot listen on {address}{}", hint(.source))]
    Listen {
        /// The requested address.
        address: HostPort,
        /// The error of the system.
        source: io::Error,
    },
    /// The system refused to create a thread or to register a signal.
    #[error("the system refused what a broker needs")]
    System(#[source] io::Error),
    /// The logs of two topics have the same name, and it is not known which topic was deleted.
    #[error(
        "the logs of '{topic}' belong to two topics, {} and {}: move the directories of one of \
         them away ('topic_id' in partition.metadata)", .ids[0], .ids[1]
    )]
    TopicConflict {
        /// The name.
        topic: TopicName,
        /// The ids of the topics.
        ids: [TopicId; 2],
    },
    /// The caller gave up before the metadata store answered, or before all logs were read.
    #[error("interrupted by the caller")]
    Interrupted,
    /// The engine behind the connections did not start, or stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Converts an error of the disk under the engine.
impl From<StorageError> for BrokerError {
    fn from(error: StorageError) -> Self {
        EngineError::from(error).into()
    }
}

/// Converts an error of the engine's metadata.
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
