//! The state of a partition's idempotent producers, by which a batch sent twice is stored once and
//! a batch that skips another is refused.
//!
//! Per producer id it holds the epoch and the last five batches. The state is a function of the
//! log. It is checked and recorded under the lock of the log's tail, and a restart rebuilds it from
//! a snapshot and the batches after the snapshot. Followers derive the same state from the
//! replicated batches. Memory is bounded by [`ProducerLimits`].

mod batch;
mod entry;
mod snapshot;
mod states;

pub use batch::{AppendedBatch, ProducerBatch};
pub use entry::{ActiveProducer, SequenceError, Verdict};
pub(crate) use snapshot::{largest_id_in_snapshots, snapshot_flaw};
pub use snapshot::{latest_snapshot, retain_snapshots, write_snapshot};
pub use states::{ProducerLimits, ProducerStates, Staged};

#[cfg(test)]
mod states_tests;
