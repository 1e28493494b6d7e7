//! Why a broker did not start, or stopped.

use std::io;

use crate::broker::HostPort;
use crate::config::ConfigError;
use crate::metadata::MetadataError;
use crate::storage::StorageError;

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
