//! Logs on disk: appending, reading, flushing, recovering and removing what partitions hold.

mod checked_text;
mod checkpoint;
mod config;
mod config_keys;
mod directory;
mod epochs;
mod error;
mod flusher;
mod producers;
mod small_file;

pub use checkpoint::{Checkpoint, Offsets};
pub use config::{CleanupPolicy, CompressionType, LogConfig, OffsetUnit, TimestampType};
pub use epochs::{EpochCache, EpochStart};
pub use error::{Remedy, StorageError};
pub use producers::{
    AppendedBatch, ProducerBatch, ProducerLimits, ProducerStates, SequenceError, Staged, Verdict,
    latest_snapshot, retain_snapshots, write_snapshot,
};
pub use small_file::Stored;

#[cfg(test)]
mod epochs_tests;
