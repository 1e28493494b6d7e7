//! What a partition remembers of its idempotent producers, so that a batch sent twice is stored
//! once and a batch that skips one is refused.
//!
//! Per producer id: its epoch and the last five batches. The state is a function of the log: it is
//! checked and recorded under the log's append lock, rebuilt from a snapshot and the batches after
//! it, and followers build the same from what they replicate. Memory is bounded by
//! [`ProducerLimits`].

mod batch;
mod entry;
mod error;
mod snapshot;
mod states;

pub use batch::{AppendedBatch, ProducerBatch};
pub use entry::{ActiveProducer, Verdict};
pub use error::SequenceError;
pub(crate) use snapshot::{largest_id_in_snapshots, snapshot_flaw};
pub use snapshot::{latest_snapshot, retain_snapshots, write_snapshot};
pub use states::{ProducerLimits, ProducerStates, Staged};

#[cfg(test)]
mod states_tests;
