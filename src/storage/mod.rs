//! Logs on disk: appending, reading, flushing, recovering and removing what partitions hold.

mod config;
mod config_keys;
mod error;

pub use config::{CleanupPolicy, CompressionType, LogConfig, OffsetUnit, TimestampType};
pub use error::{Remedy, StorageError};
