//! Placeholder.

mod checkpoint;
mod epochs;
mod producers;
mod small_file;

pub use checkpoint::{Checkpoint, Offsets};
pub use epochs::{EpochCache, EpochStart};
pub use producers::{
    AppendedBatch, ProducerBatch, ProducerLimits, ProducerStates, SequenceError, Staged, Verdict,
    latest_snapshot, retain_snapshots, write_snapshot,
};
pub use small_file::Stored;
